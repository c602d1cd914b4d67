/* JSON objects as columns: many values side by side, and of each the fields that somebody
 * wants, of flat types. Only what nobody doubts is read. At a value that is no object, has
 * a field of another type or twice, a number out of range, or anything written as few do,
 * it stops and says at which. Nothing is an error here: Arrow's parser then reads all of
 * them, as it does where this was not built, and has the words for what is wrong.
 *
 * Invariants: those of speedups.c. The bytes are known to be UTF-8.
 */
#include "speedups_json.h"

#include <float.h>

enum { IS_MISSING, IS_HERE, IS_NULL };

#define CELL ((Py_ssize_t)sizeof(int64_t))
#define COLUMNS_MAX 256
#define DEPTH_MAX 16
#define EXACT_MAX ((uint64_t)1 << 53)
#define EXACT_POWER_MAX 22

typedef struct {
    const uint8_t *name;
    Py_ssize_t name_size;
    uint8_t kind;
    uint8_t *states; /* of its rows, as the cells, which may be unaligned */
    char *cells;
    char *lengths; /* where it is of strings: the cells are their positions */
    int64_t least;
    int64_t most;
} Column;

typedef struct {
    Column columns[COLUMNS_MAX];
    int count;
    int expected; /* is next in the order of the last object */
    const uint8_t *data;
} Table;

static const double POWERS[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static inline void
put(char *cells, Py_ssize_t row, const void *cell)
{
    memcpy(cells + row * CELL, cell, (size_t)CELL);
}

static int
read_whole(Text *text, const Column *column, int64_t *found)
{
    Number number;
    if (!read_number(text, &number) || !number.is_whole || number.is_long) {
        return 0;
    }
    if (number.digits > (uint64_t)INT64_MAX) {
        return 0; /* the least of all, too, which few write */
    }
    *found = (int64_t)number.digits;
    if (number.is_negative) {
        *found = -*found;
    }
    return *found >= column->least && *found <= column->most;
}

/* The nearest double, from digits and a power of ten that are both exact: the result is
 * rounded once. Where a processor has eleven bits more it is rounded twice, which makes a
 * difference only if the first time it came to lie in the middle of two doubles. Answers
 * 0 where it would, or where digits or power are not exact. */
static int
nearest(const Number *number, double *found)
{
    int size = number->power < 0 ? -number->power : number->power;
    if (number->is_long || size > EXACT_POWER_MAX) {
        return 0;
    }
#if LDBL_MANT_DIG == 64
    uint64_t bits;
    long double power = POWERS[size], product = (long double)number->digits;
    product = number->power < 0 ? product / power : product * power;
    memcpy(&bits, &product, sizeof bits);
    if ((bits & 0x7ff) == 0x400) {
        return 0;
    }
#else
    double power = POWERS[size], product = (double)number->digits;
    if (FLT_EVAL_METHOD != 0 || number->digits > EXACT_MAX) {
        return 0;
    }
    product = number->power < 0 ? product / power : product * power;
#endif
    *found = number->is_negative ? -(double)product : (double)product;
    return 1;
}

static int
read_double(Text *text, double *found)
{
    Number number;
    char copy[NUMBER_SIZE_MAX];
    if (!read_number(text, &number)) {
        return 0;
    }
    if (nearest(&number, found)) {
        return 1;
    }
    memcpy(copy, number.at, (size_t)number.size);
    copy[number.size] = 0;
    *found = PyOS_string_to_double(copy, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static int
read_cell(Text *text, const Table *table, const Column *column, Py_ssize_t row)
{
    String string;
    int64_t whole;
    double real;
    if (column->kind == 'd') {
        if (!read_double(text, &real)) {
            return 0;
        }
        put(column->cells, row, &real);
        return 1;
    }
    if (column->kind == '?') {
        whole = take_word(text, "true", 4);
        if (!whole && !take_word(text, "false", 5)) {
            return 0;
        }
    }
    else if (column->kind == 'q') {
        if (!read_whole(text, column, &whole)) {
            return 0;
        }
    }
    else {
        if (!take(text, '"') || !read_string(text, &string)) {
            return 0;
        }
        if (column->kind == 's') {
            if (string.has_escapes) {
                unescape(&string);
            }
            whole = string.size;
            put(column->lengths, row, &whole);
            whole = string.at - table->data;
        }
        else if (column->kind == 't' ? !read_moment(&string, &whole)
                                     : string.size != 10 ||
                                           !read_date(string.at, &whole)) {
            return 0;
        }
    }
    put(column->cells, row, &whole);
    return 1;
}

/* The name of a member, and what stands between it and its value. */
static int
read_name(Text *text, String *name)
{
    if (!take(text, '"') || !read_string(text, name)) {
        return 0;
    }
    skip_space(text);
    if (!take(text, ':')) {
        return 0;
    }
    skip_space(text);
    return 1;
}

static int skip_value(Text *text, int depth);

static int
skip_members(Text *text, uint8_t closing, int depth)
{
    String name;
    skip_space(text);
    if (take(text, closing)) {
        return 1;
    }
    do {
        skip_space(text);
        if (closing == '}' && !read_name(text, &name)) {
            return 0;
        }
        if (!skip_value(text, depth + 1)) {
            return 0;
        }
        skip_space(text);
    } while (take(text, ','));
    return take(text, closing);
}

static int
skip_value(Text *text, int depth)
{
    String string;
    Number number;
    if (depth > DEPTH_MAX) {
        return 0;
    }
    if (take(text, '"')) {
        return read_string(text, &string);
    }
    if (take(text, '{')) {
        return skip_members(text, '}', depth);
    }
    if (take(text, '[')) {
        return skip_members(text, ']', depth);
    }
    return take_word(text, "true", 4) || take_word(text, "false", 5) ||
           take_word(text, "null", 4) || read_number(text, &number);
}

/* The column with this name; NULL: nobody wants the field. */
static Column *
find_column(Table *table, const String *name)
{
    for (int tried = 0, place = table->expected; tried < table->count; tried++, place++) {
        place = place < table->count ? place : 0;
        Column *column = &table->columns[place];
        if (column->name_size == name->size &&
            memcmp(column->name, name->at, (size_t)name->size) == 0) {
            table->expected = place + 1;
            return column;
        }
    }
    return NULL;
}

static int
read_member(Text *text, Table *table, Py_ssize_t row)
{
    String name;
    if (!read_name(text, &name) || name.has_escapes) {
        return 0;
    }
    Column *column = find_column(table, &name);
    if (column == NULL) {
        return skip_value(text, 0);
    }
    if (column->states[row] != IS_MISSING) {
        return 0;
    }
    if (take_word(text, "null", 4)) {
        column->states[row] = IS_NULL;
        return 1;
    }
    column->states[row] = IS_HERE;
    return read_cell(text, table, column, row);
}

static int
read_object(Text *text, Table *table, Py_ssize_t row)
{
    skip_space(text);
    if (!take(text, '{')) {
        return 0;
    }
    skip_space(text);
    if (!take(text, '}')) {
        do {
            skip_space(text);
            if (!read_member(text, table, row)) {
                return 0;
            }
            skip_space(text);
        } while (take(text, ','));
        if (!take(text, '}')) {
            return 0;
        }
    }
    skip_space(text);
    return text->at == text->end;
}

/* Fills the table; an exception: there is no room for it, or no such kind. */
static int
lay_out(Table *table, PyObject *names, const Py_buffer *kinds, const Py_buffer *states,
        const Py_buffer *cells, Py_ssize_t rows)
{
    char *next = cells->buf, *end = next + cells->len;
    Py_ssize_t slot = rows * CELL;

    table->count = (int)kinds->len;
    table->expected = 0;
    for (int place = 0; place < table->count; place++) {
        Column *column = &table->columns[place];
        char *name;
        uint8_t kind = ((const uint8_t *)kinds->buf)[place];
        int bits = kind == 'b' ? 8 : kind == 'h' ? 16 : kind == 'i' ? 32 : 64;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(names, place), &name,
                                    &column->name_size) < 0) {
            return 0;
        }
        if (kind == 0 || strchr("bhiqd?stD", kind) == NULL ||
            (end - next) / (kind == 's' ? 2 : 1) < slot) {
            PyErr_SetString(PyExc_ValueError, "no such kind, or no room for it");
            return 0;
        }
        column->name = (const uint8_t *)name;
        column->kind = bits < 64 ? 'q' : kind;
        column->most = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
        column->least = -column->most - 1;
        column->states = (uint8_t *)states->buf + place * rows;
        column->cells = next;
        next += slot;
        column->lengths = next;
        next += kind == 's' ? slot : 0;
    }
    return 1;
}

/* How many objects were read: up to the first of which there is a doubt. */
static Py_ssize_t
read_all(const Py_buffer *data, const char *offsets, Table *table, Py_ssize_t rows)
{
    int32_t start, end;
    Py_ssize_t row;

    table->data = data->buf;
    memcpy(&start, offsets, sizeof start);
    for (row = 0; row < rows; row++, start = end) {
        offsets += sizeof end;
        memcpy(&end, offsets, sizeof end);
        if (start < 0 || end < start || end > data->len) {
            break;
        }
        Text text = {(uint8_t *)data->buf + start, (uint8_t *)data->buf + end};
        if (!read_object(&text, table, row)) {
            break;
        }
    }
    return row;
}

PyObject *
read_objects(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_WRITABLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_WRITABLE, PyBUF_WRITABLE};
    enum { DATA, OFFSETS, KINDS, STATES, CELLS, BUFFERS };
    Py_buffer buffers[BUFFERS];
    Table table;
    PyObject *done = NULL;

    if (!check_argument_count(given, BUFFERS + 1) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    PyObject *names = arguments[BUFFERS];
    Py_ssize_t rows = buffers[OFFSETS].len / (Py_ssize_t)sizeof(int32_t) - 1;
    Py_ssize_t count = buffers[KINDS].len;
    if (rows < 0 || count > COLUMNS_MAX || !PyTuple_Check(names) ||
        PyTuple_Size(names) != count || (count > 0 && buffers[STATES].len / count < rows)) {
        PyErr_SetString(PyExc_ValueError, "the buffers do not fit together");
    }
    else if (lay_out(&table, names, &buffers[KINDS], &buffers[STATES], &buffers[CELLS],
                     rows)) {
        done = PyLong_FromSsize_t(
            read_all(&buffers[DATA], buffers[OFFSETS].buf, &table, rows));
    }
    release_buffers(buffers, BUFFERS);
    return done;
}
