/* Records made of columns, and the partitions of their keys, for the pipeline's loads.
 *
 * plain/column_encoding.py does the same in Python. Invariants: those of speedups.c; and
 * no byte is written before its record is known to fit.
 */
#include "speedups.h"

#define CELL ((Py_ssize_t)sizeof(int64_t))
#define MURMUR_SEED 0x9747b28cu
#define MURMUR_FACTOR 0x5bd1e995u

/* Slices of one buffer; a length below 0 is null. */
typedef struct {
    const Py_buffer *data;
    const Py_buffer *positions;
    const Py_buffer *lengths;
} Column;

typedef struct {
    const uint8_t *at;
    int64_t length;
} Slice;

static inline int64_t
cell(const Py_buffer *cells, Py_ssize_t place)
{
    int64_t number;
    memcpy(&number, (const char *)cells->buf + place * CELL, sizeof number);
    return number;
}

static inline int
has_cells(const Py_buffer *cells, Py_ssize_t count)
{
    return cells->len / CELL >= count;
}

static inline int
read_slice(const Column *column, Py_ssize_t place, Slice *slice)
{
    int64_t position = cell(column->positions, place);
    slice->length = cell(column->lengths, place);
    slice->at = column->data->buf;
    if (slice->length <= 0) {
        return 1;
    }
    if (position < 0 || position > column->data->len ||
        slice->length > column->data->len - position || slice->length > INT32_MAX) {
        return 0;
    }
    slice->at += position;
    return 1;
}

static inline uint64_t
zigzag(int64_t number)
{
    return ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);
}

static inline int64_t
varint_size(int64_t number)
{
    int64_t size = 1;
    for (uint64_t bits = zigzag(number) >> 7; bits != 0; bits >>= 7) {
        size++;
    }
    return size;
}

static inline uint8_t *
put_varint(uint8_t *at, int64_t number)
{
    uint64_t bits = zigzag(number);
    for (; bits >= 0x80; bits >>= 7) {
        *at++ = (uint8_t)(bits | 0x80);
    }
    *at++ = (uint8_t)bits;
    return at;
}

static inline uint8_t *
put_bytes(uint8_t *at, const Slice *slice)
{
    if (slice->length > 0) {
        memcpy(at, slice->at, (size_t)slice->length);
        at += slice->length;
    }
    return at;
}

static inline uint8_t *
put_field(uint8_t *at, const Slice *slice)
{
    return put_bytes(put_varint(at, slice->length < 0 ? -1 : slice->length), slice);
}

static inline int64_t
field_size(const Slice *slice)
{
    return slice->length < 0 ? 1 : varint_size(slice->length) + slice->length;
}

enum { KEY, VALUE, HEADERS, COLUMNS };

/* How many rows from the first have room, and their size; -1 for a slice that is not in
 * its data. A first one that has no room: none, and what it needs. */
static Py_ssize_t
encode_rows(const Column *columns, const Py_buffer *timestamps, Py_ssize_t first,
            const Py_buffer *target, int64_t *written)
{
    Py_ssize_t total = timestamps->len / CELL, place = first;
    uint8_t *at = target->buf, *end = at + target->len;
    uint64_t base = (uint64_t)cell(timestamps, first);

    for (; place < total && place - first < INT32_MAX; place++) {
        Slice slices[COLUMNS];
        for (int each = 0; each < COLUMNS; each++) {
            if (!read_slice(&columns[each], place, &slices[each])) {
                return -1;
            }
        }
        int64_t delta = (int64_t)((uint64_t)cell(timestamps, place) - base);
        int64_t headers = slices[HEADERS].length > 0 ? slices[HEADERS].length : 1;
        int64_t size = 1 + varint_size(delta) + varint_size(place - first) +
                       field_size(&slices[KEY]) + field_size(&slices[VALUE]) + headers;
        int64_t needed = varint_size(size) + size;
        if (size > INT32_MAX) {
            return -1;
        }
        if (needed > end - at) {
            if (place == first) {
                *written = needed;
                return 0;
            }
            break;
        }
        at = put_varint(at, size);
        *at++ = 0; /* attributes */
        at = put_varint(at, delta);
        at = put_varint(at, place - first);
        at = put_field(at, &slices[KEY]);
        at = put_field(at, &slices[VALUE]);
        if (slices[HEADERS].length > 0) {
            at = put_bytes(at, &slices[HEADERS]);
        }
        else {
            *at++ = 0;
        }
    }
    *written = at - (uint8_t *)target->buf;
    return place - first;
}

PyObject *
encode_columns(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_WRITABLE};
    enum { TIMESTAMPS = 3 * COLUMNS, TARGET, BUFFERS };
    Py_buffer buffers[BUFFERS];
    Column columns[COLUMNS];
    int64_t first, size = 0;
    Py_ssize_t count = -1;

    if (!check_argument_count(given, BUFFERS + 1) ||
        !read_numbers(arguments + BUFFERS, &first, 1) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Py_ssize_t total = buffers[TIMESTAMPS].len / CELL;
    int has_all = first >= 0 && first < total;
    for (int each = 0; each < COLUMNS; each++) {
        Py_buffer *of = buffers + 3 * each;
        columns[each] = (Column){of, of + 1, of + 2};
        has_all = has_all && has_cells(of + 1, total) && has_cells(of + 2, total);
    }
    if (has_all) {
        count = encode_rows(columns, &buffers[TIMESTAMPS], (Py_ssize_t)first,
                            &buffers[TARGET], &size);
    }
    release_buffers(buffers, BUFFERS);
    if (!has_all) {
        PyErr_SetString(PyExc_BufferError, "a column has no such row");
        return NULL;
    }
    if (count < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "A field is not in the data, or is too long for a record.");
        return NULL;
    }
    return Py_BuildValue("(nL)", count, (long long)size);
}

/* The hash of Java's client; its words are little-endian, whatever the machine's are. */
static uint32_t
murmur2(const uint8_t *at, int64_t size)
{
    uint32_t hashed = MURMUR_SEED ^ (uint32_t)size;
    for (; size >= 4; size -= 4, at += 4) {
        uint32_t part = (uint32_t)at[0] | (uint32_t)at[1] << 8 |
                        (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        part *= MURMUR_FACTOR;
        part = (part ^ part >> 24) * MURMUR_FACTOR;
        hashed = hashed * MURMUR_FACTOR ^ part;
    }
    if (size > 0) {
        uint32_t rest = 0;
        for (int64_t place = size; place-- > 0;) {
            rest = rest << 8 | at[place];
        }
        hashed = (hashed ^ rest) * MURMUR_FACTOR;
    }
    hashed = (hashed ^ hashed >> 13) * MURMUR_FACTOR;
    return hashed ^ hashed >> 15;
}

PyObject *
place_keys(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_WRITABLE};
    enum { DATA, POSITIONS, LENGTHS, TARGET, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int64_t partitions;
    int is_good = 1;

    if (!check_argument_count(given, BUFFERS + 1) ||
        !read_numbers(arguments + BUFFERS, &partitions, 1) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Py_ssize_t total = buffers[POSITIONS].len / CELL;
    Column keys = {&buffers[DATA], &buffers[POSITIONS], &buffers[LENGTHS]};
    int has_room = has_cells(&buffers[LENGTHS], total) &&
                   has_cells(&buffers[TARGET], total) && partitions > 0;
    for (Py_ssize_t place = 0; has_room && is_good && place < total; place++) {
        Slice key;
        is_good = read_slice(&keys, place, &key);
        if (is_good) {
            int64_t found = -1;
            if (key.length >= 0) {
                found = (murmur2(key.at, key.length) & INT32_MAX) % partitions;
            }
            memcpy((char *)buffers[TARGET].buf + place * CELL, &found, sizeof found);
        }
    }
    release_buffers(buffers, BUFFERS);
    if (!has_room) {
        PyErr_SetString(PyExc_BufferError,
                        "a length and room for each key are needed, and a partition");
        return NULL;
    }
    if (!is_good) {
        PyErr_SetString(PyExc_ValueError,
                        "A field is not in the data, or is too long for a record.");
        return NULL;
    }
    Py_RETURN_NONE;
}
