/* The batches of a log: what their headers hold, and whether their checksums hold.
 *
 * plain/batch_columns.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups.h"

/* The columns of batch_columns.py, in its order. */
enum {
    POSITION,
    BASE_OFFSET,
    NEXT_OFFSET,
    MAX_TIMESTAMP,
    PLACE_OF_MAX,
    LEADER_EPOCH,
    PRODUCER_ID,
    ATTRIBUTES,
    BATCH_COLUMNS
};

typedef struct {
    int64_t next_offset; /* no batch begins below */
    int64_t offset_max;  /* none ends above; less than 2^63 - 1 */
    int checks_crc;
} Limits;

/* Fills the columns, of which each has room for capacity batches. No Python in here. */
static Py_ssize_t
walk(const uint8_t *start, Py_ssize_t total, char *columns, Py_ssize_t capacity,
     Limits limits, Py_ssize_t *walked)
{
    Py_ssize_t count = 0, position = 0;
    int64_t timestamp_max = 0, place_of_max = 0;

    while (count < capacity && total - position >= BATCH_OVERHEAD) {
        const uint8_t *at = start + position;
        int64_t size = (int64_t)(int32_t)read_uint32(at + 8) + LOG_OVERHEAD;
        int64_t base_offset = read_int64(at);
        int32_t delta = (int32_t)read_uint32(at + 23);
        if (size < BATCH_OVERHEAD || size > total - position || at[16] != 2 ||
            delta < 0 || base_offset < limits.next_offset ||
            base_offset > limits.offset_max - delta) {
            break;
        }
        if (limits.checks_crc &&
            compute_crc32c(at + CRC_START, (Py_ssize_t)size - CRC_START) !=
                read_uint32(at + 17)) {
            break;
        }
        int64_t timestamp = read_int64(at + 35);
        if (count == 0 || timestamp > timestamp_max) {
            timestamp_max = timestamp;
            place_of_max = count;
        }
        limits.next_offset = base_offset + delta + 1;
        int64_t row[BATCH_COLUMNS] = {
            [POSITION] = position,
            [BASE_OFFSET] = base_offset,
            [NEXT_OFFSET] = limits.next_offset,
            [MAX_TIMESTAMP] = timestamp_max,
            [PLACE_OF_MAX] = place_of_max,
            [LEADER_EPOCH] = (int32_t)read_uint32(at + 12),
            [PRODUCER_ID] = read_int64(at + 43),
            [ATTRIBUTES] = (int16_t)(uint16_t)(at[21] << 8 | at[22]),
        };
        for (int column = 0; column < BATCH_COLUMNS; column++) {
            memcpy(columns + (column * capacity + count) * (Py_ssize_t)sizeof(int64_t),
                   &row[column], sizeof(int64_t));
        }
        position += (Py_ssize_t)size;
        count++;
    }
    *walked = position;
    return count;
}

PyObject *
walk_batches(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    Py_buffer data, columns;
    Py_ssize_t count, walked = 0;
    Limits limits;

    if (!check_argument_count(given, 5)) {
        return NULL;
    }
    limits.next_offset = PyLong_AsLongLong(arguments[2]);
    if (limits.next_offset == -1 && PyErr_Occurred()) {
        return NULL;
    }
    limits.offset_max = PyLong_AsLongLong(arguments[3]);
    if (limits.offset_max == -1 && PyErr_Occurred()) {
        return NULL;
    }
    limits.checks_crc = PyObject_IsTrue(arguments[4]);
    if (limits.checks_crc < 0) {
        return NULL;
    }
    if (limits.offset_max < 0 || limits.offset_max == INT64_MAX) {
        PyErr_SetString(PyExc_ValueError, "the largest offset is out of range");
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[0], &data, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[1], &columns, PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_ssize_t capacity = columns.len / (Py_ssize_t)(BATCH_COLUMNS * sizeof(int64_t));
    Py_BEGIN_ALLOW_THREADS
    count = walk(data.buf, data.len, columns.buf, capacity, limits, &walked);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&columns);
    PyBuffer_Release(&data);
    return Py_BuildValue("(nn)", count, walked);
}
