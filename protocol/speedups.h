/* What the sources of speedups share: how one record is read, every bound checked. */
#ifndef ODRADEK_SPEEDUPS_H
#define ODRADEK_SPEEDUPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

/* Length, attributes, timestamp, offset, key length, value length, header count. */
#define RECORD_SIZE_MIN 7
#define BATCH_OVERHEAD 61
#define LOG_OVERHEAD 12
#define CRC_START 21
#define LOG_APPEND_TIME 0x08
#define HAS_DELETE_HORIZON 0x40

static const char GOOD[] = "";
static const char BAD_NUMBER[] = "holds a number that is cut short or too large";
static const char BAD_LENGTH[] = "is longer than what is left of the batch";
static const char BAD_KEY[] = "has a key length that does not fit";
static const char BAD_VALUE[] = "has a value length that does not fit";
static const char BAD_HEADER_COUNT[] = "has a negative number of headers";
static const char BAD_HEADER_KEY[] = "has a header key length that does not fit";
static const char BAD_HEADER_VALUE[] = "has a header value length that does not fit";
static const char BAD_SIZE[] = "does not end where its length says";
static const char BAD_ATTRIBUTES[] = "has attributes other than 0";
static const char BAD_OFFSET[] = "has an offset delta other than its place";

typedef struct {
    const uint8_t *key;
    const uint8_t *value;
    int64_t timestamp_delta;
    int32_t offset_delta;
    int32_t key_length; /* -1 is null, here and below */
    int32_t value_length;
    int32_t header_count;
    uint8_t attributes;
} Record;

typedef struct {
    int64_t timestamp_min; /* without records -1, as the next two */
    int64_t timestamp_max;
    Py_ssize_t place_of_max;
    Py_ssize_t null_keys;
} Summary;

/* A zigzag varint of at most 32 bits: five bytes, four bits in the fifth. */
static inline int
read_varint(const uint8_t **at, const uint8_t *end, int32_t *number)
{
    const uint8_t *byte = *at;
    uint32_t bits = 0;
    for (int shift = 0; shift < 35 && byte < end; shift += 7, byte++) {
        bits |= (uint32_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) {
            if (shift == 28 && *byte > 0x0f) {
                return 0;
            }
            *number = (int32_t)(bits >> 1) ^ -(int32_t)(bits & 1);
            *at = byte + 1;
            return 1;
        }
    }
    return 0;
}

/* A zigzag varint of at most 64 bits: ten bytes, one bit in the tenth. */
static inline int
read_varlong(const uint8_t **at, const uint8_t *end, int64_t *number)
{
    const uint8_t *byte = *at;
    uint64_t bits = 0;
    for (int shift = 0; shift < 70 && byte < end; shift += 7, byte++) {
        bits |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) {
            if (shift == 63 && *byte > 0x01) {
                return 0;
            }
            *number = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            *at = byte + 1;
            return 1;
        }
    }
    return 0;
}

/* A length (-1 is null, if that is allowed) and as many bytes. */
static inline const char *
read_field(const uint8_t **at, const uint8_t *end, const uint8_t **field,
           int32_t *length, const char *problem)
{
    if (!read_varint(at, end, length)) {
        return BAD_NUMBER;
    }
    if (*length < -1 || *length > end - *at) {
        return problem;
    }
    *field = *at;
    if (*length > 0) {
        *at += *length;
    }
    return GOOD;
}

static inline const char *
skip_headers(const uint8_t **at, const uint8_t *end, int32_t *count)
{
    const uint8_t *field;
    const char *problem;
    int32_t length;
    if (!read_varint(at, end, count)) {
        return BAD_NUMBER;
    }
    if (*count < 0) {
        return BAD_HEADER_COUNT;
    }
    /* A lying count ends with the bytes: each header takes two at least. */
    for (int32_t i = 0; i < *count; i++) {
        problem = read_field(at, end, &field, &length, BAD_HEADER_KEY);
        if (problem != GOOD) {
            return problem;
        }
        if (length < 0) {
            return BAD_HEADER_KEY;
        }
        problem = read_field(at, end, &field, &length, BAD_HEADER_VALUE);
        if (problem != GOOD) {
            return problem;
        }
    }
    return GOOD;
}

static inline const char *
read_record(const uint8_t **at, const uint8_t *batch_end, Record *record)
{
    const char *problem;
    int32_t length;
    if (!read_varint(at, batch_end, &length)) {
        return BAD_NUMBER;
    }
    if (length < 0 || length > batch_end - *at) {
        return BAD_LENGTH;
    }
    const uint8_t *end = *at + length;
    if (*at == end) {
        return BAD_NUMBER;
    }
    record->attributes = *(*at)++;
    if (!read_varlong(at, end, &record->timestamp_delta) ||
        !read_varint(at, end, &record->offset_delta)) {
        return BAD_NUMBER;
    }
    problem = read_field(at, end, &record->key, &record->key_length, BAD_KEY);
    if (problem != GOOD) {
        return problem;
    }
    problem = read_field(at, end, &record->value, &record->value_length, BAD_VALUE);
    if (problem != GOOD) {
        return problem;
    }
    if (*at < end && **at == 0) {
        (*at)++; /* no headers, as most records */
        record->header_count = 0;
    }
    else {
        problem = skip_headers(at, end, &record->header_count);
        if (problem != GOOD) {
            return problem;
        }
    }
    return *at == end ? GOOD : BAD_SIZE;
}

static inline uint32_t
read_uint32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
           (uint32_t)at[3];
}

static inline int64_t
read_int64(const uint8_t *at)
{
    return (int64_t)((uint64_t)read_uint32(at) << 32 | read_uint32(at + 4));
}

static inline PyObject *
bad_record(Py_ssize_t place, const char *problem)
{
    return PyErr_Format(PyExc_ValueError, "Record %zd of the batch %s.", place,
                        problem);
}

/* Sets an exception and answers 0 when so many records cannot be there. */
static inline int
check_count(Py_ssize_t count, Py_ssize_t size)
{
    if (count < 0 || count > size / RECORD_SIZE_MIN) {
        PyErr_Format(PyExc_ValueError,
                     "The batch says %zd records, in %zd bytes.", count, size);
        return 0;
    }
    return 1;
}

static inline int
check_end(const uint8_t *at, const uint8_t *end)
{
    if (at != end) {
        PyErr_Format(PyExc_ValueError,
                     "The batch has %zd bytes after its last record.",
                     (Py_ssize_t)(end - at));
        return 0;
    }
    return 1;
}

static inline int
check_argument_count(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given != wanted) {
        PyErr_Format(PyExc_TypeError, "%zd arguments given, %zd wanted", given,
                     wanted);
        return 0;
    }
    return 1;
}

/* Gets the buffers of the first arguments; lets go of all when one cannot be had. */
static inline int
get_buffers(PyObject *const *arguments, const int *flags, Py_buffer *buffers, int count)
{
    for (int i = 0; i < count; i++) {
        if (PyObject_GetBuffer(arguments[i], &buffers[i], flags[i]) < 0) {
            while (i-- > 0) {
                PyBuffer_Release(&buffers[i]);
            }
            return 0;
        }
    }
    return 1;
}

static inline void
release_buffers(Py_buffer *buffers, int count)
{
    while (count-- > 0) {
        PyBuffer_Release(&buffers[count]);
    }
}

static inline int
read_numbers(PyObject *const *arguments, int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        numbers[i] = PyLong_AsLongLong(arguments[i]);
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return 0;
        }
    }
    return 1;
}

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

/* speedups_crc.c */
void prepare_crc32c(void);
extern uint32_t (*compute_crc32c)(const uint8_t *at, Py_ssize_t size);

/* speedups_records.c: checks and sums up records as a client may send them. Answers
 * NULL, or what is wrong with the record at place. */
const char *sum_records(const uint8_t **at, const uint8_t *end, Py_ssize_t count,
                        int64_t base_timestamp, Summary *summary, Py_ssize_t *place);

#define DECLARE(name) \
    PyObject *name(PyObject *module, PyObject *const *arguments, Py_ssize_t given)

/* speedups_records.c */
DECLARE(summarize);
DECLARE(index_records);

/* speedups_usual.c */
DECLARE(check_usual);

/* speedups_produce.c */
DECLARE(find_usual_batch);

/* speedups_batches.c */
DECLARE(walk_batches);

/* speedups_keys.c */
DECLARE(map_keys);

/* speedups_latest.c */
DECLARE(keep_latest);

/* speedups_commits.c */
DECLARE(latest_commits);

/* speedups_columns.c */
DECLARE(walk_records);
DECLARE(walk_headers);
DECLARE(gather);

/* speedups_encoding.c */
DECLARE(encode_columns);
DECLARE(place_keys);

/* speedups_json.c */
DECLARE(read_objects);

#undef DECLARE

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
