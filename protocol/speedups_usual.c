/* The batch that nearly every producer sends, recognised at once: not compressed, no
 * control batch, its header true, its records in order and in time.
 *
 * plain/usual_batch.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups.h"

#define TRANSACTIONAL 0x10
#define NO_TIMESTAMP (-1)

typedef struct {
    int64_t now_ms;
    int64_t before_max_ms; /* neither is negative */
    int64_t after_max_ms;
    int takes_null_keys;
} Rules;

enum {
    BASE_OFFSET,
    LENGTH,
    LEADER_EPOCH,
    MAGIC,
    CRC,
    ATTRIBUTES,
    LAST_OFFSET_DELTA,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    BASE_SEQUENCE,
    RECORDS_COUNT,
    FIELDS
};

static inline int64_t
read_int16(const uint8_t *at)
{
    return (int16_t)(uint16_t)(at[0] << 8 | at[1]);
}

static inline int64_t
read_int32(const uint8_t *at)
{
    return (int32_t)read_uint32(at);
}

/* Whether one is later than other by more than that; no difference is too large. */
static inline int
is_later_by(int64_t one, int64_t other, int64_t more)
{
    return one > other && (uint64_t)one - (uint64_t)other > (uint64_t)more;
}

/* Fills the fields of the header; 0 where the batch is not the usual one. */
static int
check(const uint8_t *start, Py_ssize_t size, const Rules *rules, int64_t *fields)
{
    Summary sums;
    const uint8_t *at = start + BATCH_OVERHEAD, *end = start + size;
    Py_ssize_t place;

    if (size < BATCH_OVERHEAD) {
        return 0;
    }
    int64_t header[FIELDS] = {
        [BASE_OFFSET] = read_int64(start),
        [LENGTH] = read_int32(start + 8),
        [LEADER_EPOCH] = read_int32(start + 12),
        [MAGIC] = (int8_t)start[16],
        [CRC] = read_uint32(start + 17),
        [ATTRIBUTES] = read_int16(start + 21),
        [LAST_OFFSET_DELTA] = read_int32(start + 23),
        [BASE_TIMESTAMP] = read_int64(start + 27),
        [MAX_TIMESTAMP] = read_int64(start + 35),
        [PRODUCER_ID] = read_int64(start + 43),
        [PRODUCER_EPOCH] = read_int16(start + 51),
        [BASE_SEQUENCE] = read_int32(start + 53),
        [RECORDS_COUNT] = read_int32(start + 57),
    };
    int64_t count = header[RECORDS_COUNT];
    if (header[BASE_OFFSET] != 0 || header[LENGTH] + LOG_OVERHEAD != size ||
        header[MAGIC] != 2 || header[ATTRIBUTES] & ~TRANSACTIONAL || count <= 0 ||
        count != header[LAST_OFFSET_DELTA] + 1 ||
        (header[PRODUCER_ID] >= 0 && header[BASE_SEQUENCE] < 0)) {
        return 0;
    }
    if (compute_crc32c(start + CRC_START, size - CRC_START) != header[CRC] ||
        sum_records(&at, end, (Py_ssize_t)count, header[BASE_TIMESTAMP], &sums,
                    &place) != NULL ||
        at != end) {
        return 0;
    }
    memcpy(fields, header, sizeof header);
    return sums.timestamp_max == header[MAX_TIMESTAMP] &&
           sums.timestamp_max >= NO_TIMESTAMP &&
           !is_later_by(rules->now_ms, sums.timestamp_min, rules->before_max_ms) &&
           !is_later_by(sums.timestamp_max, rules->now_ms, rules->after_max_ms) &&
           (rules->takes_null_keys || sums.null_keys == 0);
}

static PyObject *
make_tuple(const int64_t *fields)
{
    PyObject *tuple = PyTuple_New(FIELDS);
    if (tuple == NULL) {
        return NULL;
    }
    for (int i = 0; i < FIELDS; i++) {
        PyObject *number = PyLong_FromLongLong(fields[i]);
        if (number == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, i, number);
    }
    return tuple;
}

PyObject *
check_usual(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    int64_t numbers[4], fields[FIELDS];
    Py_buffer batch;

    if (!check_argument_count(given, 5) || !read_numbers(arguments + 1, numbers, 4)) {
        return NULL;
    }
    if (numbers[1] < 0 || numbers[2] < 0) {
        PyErr_SetString(PyExc_ValueError, "a time span is negative");
        return NULL;
    }
    Rules rules = {numbers[0], numbers[1], numbers[2], numbers[3] != 0};
    if (PyObject_GetBuffer(arguments[0], &batch, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    int is_usual = check(batch.buf, batch.len, &rules, fields);
    PyBuffer_Release(&batch);
    if (!is_usual) {
        Py_RETURN_NONE;
    }
    return make_tuple(fields);
}
