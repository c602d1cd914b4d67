/* The records of one batch: every byte checked, what they say in sum, where they are.
 *
 * plain/records.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups.h"

#define INDEX_COLUMNS 6
#define INDEX_ROW_SIZE ((Py_ssize_t)(INDEX_COLUMNS * sizeof(int64_t)))

const char *
sum_records(const uint8_t **at, const uint8_t *end, Py_ssize_t count,
            int64_t base_timestamp, Summary *summary, Py_ssize_t *bad_place)
{
    Summary sums = {-1, -1, -1, 0};
    Record record;

    for (Py_ssize_t place = 0; place < count; place++) {
        const char *problem = read_record(at, end, &record);
        if (problem == GOOD && record.attributes != 0) {
            problem = BAD_ATTRIBUTES;
        }
        if (problem == GOOD && record.offset_delta != place) {
            problem = BAD_OFFSET;
        }
        if (problem != GOOD) {
            *bad_place = place;
            return problem;
        }
        /* Wraps as Java's long does; unsigned, for C leaves the other undefined. */
        int64_t timestamp = (int64_t)((uint64_t)base_timestamp +
                                      (uint64_t)record.timestamp_delta);
        if (place == 0 || timestamp > sums.timestamp_max) {
            sums.timestamp_max = timestamp;
            sums.place_of_max = place;
        }
        if (place == 0 || timestamp < sums.timestamp_min) {
            sums.timestamp_min = timestamp;
        }
        sums.null_keys += record.key_length < 0;
    }
    *summary = sums;
    return NULL;
}

static PyObject *
summarize_buffer(const Py_buffer *payload, Py_ssize_t count, int64_t base_timestamp)
{
    const uint8_t *at = payload->buf, *end = at + payload->len;
    Py_ssize_t place;
    Summary sums;

    if (!check_count(count, payload->len)) {
        return NULL;
    }
    const char *problem = sum_records(&at, end, count, base_timestamp, &sums, &place);
    if (problem != NULL) {
        return bad_record(place, problem);
    }
    if (!check_end(at, end)) {
        return NULL;
    }
    return Py_BuildValue("(LLnn)", (long long)sums.timestamp_min,
                         (long long)sums.timestamp_max, sums.place_of_max,
                         sums.null_keys);
}

static PyObject *
index_buffer(const Py_buffer *payload, Py_ssize_t count, const Py_buffer *rows)
{
    const uint8_t *start = payload->buf, *at = start, *end = start + payload->len;
    char *row = rows->buf;
    const char *problem;
    Record record;

    if (!check_count(count, payload->len)) {
        return NULL;
    }
    if (rows->len / INDEX_ROW_SIZE < count) {
        PyErr_SetString(PyExc_BufferError, "six int64 a record are needed");
        return NULL;
    }
    for (Py_ssize_t place = 0; place < count; place++, row += INDEX_ROW_SIZE) {
        problem = read_record(&at, end, &record);
        if (problem != GOOD) {
            return bad_record(place, problem);
        }
        int64_t columns[INDEX_COLUMNS] = {
            record.timestamp_delta, record.offset_delta,
            record.key - start,     record.key_length,
            record.value - start,   record.value_length,
        };
        memcpy(row, columns, sizeof columns); /* rows may be unaligned */
    }
    if (!check_end(at, end)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *
summarize(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    Py_buffer payload;
    PyObject *summary;

    if (!check_argument_count(given, 3)) {
        return NULL;
    }
    Py_ssize_t count = PyLong_AsSsize_t(arguments[1]);
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    long long base_timestamp = PyLong_AsLongLong(arguments[2]);
    if (base_timestamp == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[0], &payload, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    summary = summarize_buffer(&payload, count, base_timestamp);
    PyBuffer_Release(&payload);
    return summary;
}

PyObject *
index_records(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    Py_buffer payload, rows;
    PyObject *none;

    if (!check_argument_count(given, 3)) {
        return NULL;
    }
    Py_ssize_t count = PyLong_AsSsize_t(arguments[1]);
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[0], &payload, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[2], &rows, PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&payload);
        return NULL;
    }
    none = index_buffer(&payload, count, &rows);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&payload);
    return none;
}
