/* The records of many batches as columns, for the pipeline: where their fields are, and
 * one copy that puts the bytes of a column side by side, as Arrow wants them.
 *
 * plain/record_columns.py does the same in Python; tests compare the two.
 *
 * Invariants: those of speedups.c. The numbers that a caller hands over are not trusted
 * either: every position and length is compared with the data once more.
 */
#include "speedups.h"

enum {
    OFFSET,
    TIMESTAMP,
    KEY_POSITION,
    KEY_LENGTH,
    VALUE_POSITION,
    VALUE_LENGTH,
    HEADER_COUNT,
    RECORD_COLUMNS
};

enum { NAME_POSITION, NAME_LENGTH, DATA_POSITION, DATA_LENGTH, HEADER_COLUMNS };

#define COMPRESSION_MASK 0x07
#define CELL ((Py_ssize_t)sizeof(int64_t))
#define GATHERED_MAX ((int64_t)INT32_MAX)
#define SMALL 32

typedef struct {
    char *cells; /* columns of equal length, one behind another; may be unaligned */
    Py_ssize_t capacity;
    Py_ssize_t count;
} Columns;

static inline void
put(const Columns *columns, int column, int64_t number)
{
    memcpy(columns->cells + (column * columns->capacity + columns->count) * CELL,
           &number, sizeof number);
}

static inline int64_t
get(const Py_buffer *numbers, Py_ssize_t place)
{
    int64_t number;
    memcpy(&number, (const char *)numbers->buf + place * CELL, sizeof number);
    return number;
}

/* Wraps as Java's long does; unsigned, for C leaves the other undefined. */
static inline int64_t
add(int64_t one, int64_t other)
{
    return (int64_t)((uint64_t)one + (uint64_t)other);
}

/* A whole, uncompressed batch. Answers 0, with the count as it was, where it is none,
 * has no room, or a malformed record. */
static int
walk_batch(const uint8_t *data, Py_ssize_t position, Py_ssize_t size, Columns *columns)
{
    const uint8_t *header = data + position, *at, *end;
    int64_t base_offset, base_timestamp, append_time, length;
    int32_t records_count;
    Columns rows = *columns; /* a copy of its own stays in registers */
    Record record;

    length = (int64_t)(int32_t)read_uint32(header + 8) + LOG_OVERHEAD;
    records_count = (int32_t)read_uint32(header + 57);
    if (length < BATCH_OVERHEAD || length > size || header[22] & COMPRESSION_MASK ||
        records_count < 0 || records_count > rows.capacity - rows.count) {
        return 0;
    }
    base_offset = read_int64(header);
    base_timestamp = read_int64(header + 27);
    append_time = read_int64(header + 35);
    at = header + BATCH_OVERHEAD;
    end = header + length;
    for (int32_t left = records_count; left > 0; left--, rows.count++) {
        if (read_record(&at, end, &record) != GOOD) {
            return 0;
        }
        put(&rows, OFFSET, add(base_offset, record.offset_delta));
        put(&rows, TIMESTAMP,
            header[22] & LOG_APPEND_TIME
                ? append_time
                : add(base_timestamp, record.timestamp_delta));
        put(&rows, KEY_POSITION, record.key - data);
        put(&rows, KEY_LENGTH, record.key_length);
        put(&rows, VALUE_POSITION, record.value - data);
        put(&rows, VALUE_LENGTH, record.value_length);
        put(&rows, HEADER_COUNT, record.header_count);
    }
    if (at != end) {
        return 0;
    }
    columns->count = rows.count;
    return 1;
}

/* How many batches were walked: up to the first that cannot be. */
static Py_ssize_t
walk_all(const Py_buffer *data, const Py_buffer *positions, Columns *columns)
{
    Py_ssize_t total = positions->len / CELL, done;

    for (done = 0; done < total; done++) {
        int64_t position = get(positions, done);
        if (position < 0 || position > data->len - BATCH_OVERHEAD ||
            !walk_batch(data->buf, (Py_ssize_t)position,
                        data->len - (Py_ssize_t)position, columns)) {
            break;
        }
    }
    return done;
}

PyObject *
walk_records(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_WRITABLE};
    enum { DATA, POSITIONS, COLUMNS, BUFFERS };
    Py_buffer buffers[BUFFERS];

    if (!check_argument_count(given, BUFFERS) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Columns columns = {buffers[COLUMNS].buf,
                       buffers[COLUMNS].len / (RECORD_COLUMNS * CELL), 0};
    Py_ssize_t done = walk_all(&buffers[DATA], &buffers[POSITIONS], &columns);
    release_buffers(buffers, BUFFERS);
    return Py_BuildValue("(nn)", done, columns.count);
}

/* The headers of one record, which begin with their count; 0 when they are malformed. */
static int
walk_block(const Py_buffer *data, int64_t position, Columns *columns)
{
    const uint8_t *start = data->buf, *end = start + data->len, *at, *name, *field;
    int32_t count, name_length, length;

    if (position < 0 || position > data->len) {
        return 0;
    }
    at = start + position;
    if (!read_varint(&at, end, &count) || count < 0 ||
        count > columns->capacity - columns->count) {
        return 0;
    }
    for (; count > 0; count--, columns->count++) {
        if (read_field(&at, end, &name, &name_length, BAD_HEADER_KEY) != GOOD ||
            name_length < 0 ||
            read_field(&at, end, &field, &length, BAD_HEADER_VALUE) != GOOD) {
            return 0;
        }
        put(columns, NAME_POSITION, name - start);
        put(columns, NAME_LENGTH, name_length);
        put(columns, DATA_POSITION, field - start);
        put(columns, DATA_LENGTH, length);
    }
    return 1;
}

PyObject *
walk_headers(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_WRITABLE};
    enum { DATA, POSITIONS, COLUMNS, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int is_good = 1;

    if (!check_argument_count(given, BUFFERS) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Columns columns = {buffers[COLUMNS].buf,
                       buffers[COLUMNS].len / (HEADER_COLUMNS * CELL), 0};
    Py_ssize_t place = 0, total = buffers[POSITIONS].len / CELL;
    for (; place < total && is_good; place++) {
        is_good =
            walk_block(&buffers[DATA], get(&buffers[POSITIONS], place), &columns);
    }
    release_buffers(buffers, BUFFERS);
    if (!is_good) {
        return PyErr_Format(PyExc_ValueError,
                            "Block %zd of headers is malformed, or has no room.",
                            place - 1);
    }
    return PyLong_FromSsize_t(columns.count);
}

/* The bytes that were copied; -1 when a slice is not in the data, or has no room. */
static int64_t
gather_all(const Py_buffer *data, const Py_buffer *positions, const Py_buffer *lengths,
           char *offsets, const Py_buffer *target)
{
    Py_ssize_t total = positions->len / CELL;
    int64_t room = target->len < GATHERED_MAX ? target->len : GATHERED_MAX;
    uint8_t *start = target->buf;
    int64_t size = 0;

    for (Py_ssize_t place = 0; place < total; place++) {
        int64_t position = get(positions, place), length = get(lengths, place);
        int32_t offset = (int32_t)size;
        memcpy(offsets + place * (Py_ssize_t)sizeof offset, &offset, sizeof offset);
        if (length <= 0) {
            continue; /* null, or nothing */
        }
        if (position < 0 || position > data->len || length > data->len - position ||
            length > room - size) {
            return -1;
        }
        const uint8_t *from = (const uint8_t *)data->buf + position;
        if (length <= SMALL && data->len - position >= SMALL && room - size >= SMALL) {
            memcpy(start + size, from, SMALL); /* what is too much is overwritten */
        }
        else {
            memcpy(start + size, from, (size_t)length);
        }
        size += length;
    }
    int32_t offset = (int32_t)size;
    memcpy(offsets + total * (Py_ssize_t)sizeof offset, &offset, sizeof offset);
    return size;
}

PyObject *
gather(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_WRITABLE, PyBUF_WRITABLE};
    enum { DATA, POSITIONS, LENGTHS, OFFSETS, TARGET, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int64_t size = -1;

    if (!check_argument_count(given, BUFFERS) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Py_ssize_t total = buffers[POSITIONS].len / CELL;
    int has_room = buffers[LENGTHS].len / CELL >= total &&
                   buffers[OFFSETS].len / (Py_ssize_t)sizeof(int32_t) > total;
    if (has_room) {
        size = gather_all(&buffers[DATA], &buffers[POSITIONS], &buffers[LENGTHS],
                          buffers[OFFSETS].buf, &buffers[TARGET]);
    }
    release_buffers(buffers, BUFFERS);
    if (!has_room) {
        PyErr_SetString(PyExc_BufferError,
                        "a length for each position and one offset more are needed");
        return NULL;
    }
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "A slice is not in the data, or has no room in the target.");
        return NULL;
    }
    return PyLong_FromLongLong(size);
}
