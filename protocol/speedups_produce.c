/* Where the batch is in the Produce that nearly every client sends: one batch, for one
 * partition of one topic.
 *
 * plain/usual_produce.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups.h"

#define CORRELATION_ID 4
#define CLIENT_ID 8 /* its length, two bytes, then as many */
/* From there: the length itself, tags. */
#define TO_TRANSACTIONAL_ID 11
/* The same, and no transactional id, acks, timeout, one topic. */
#define TO_TOPIC 19
#define EMPTY 1 /* a length that is said: it is one more than it is */
/* From the topic's id, or its name, to the batch's length: one partition, index. */
#define BEHIND_TOPIC_ID 21
#define BEHIND_TOPIC_NAME 5
#define ATTRIBUTES 22
#define TRANSACTIONAL 0x10
#define NO_TAGS 3 /* of partition, topic and request */

/* An unsigned varint of at most 32 bits; 0 also stands for what is none. */
static uint32_t
read_length(const uint8_t *data, Py_ssize_t size, Py_ssize_t *position)
{
    uint64_t bits = 0;
    for (int shift = 0; shift < 35 && *position < size; shift += 7) {
        uint8_t byte = data[(*position)++];
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return bits <= UINT32_MAX ? (uint32_t)bits : 0;
        }
    }
    return 0;
}

/* The start and the end of the batch, and the end of what is before its length. */
static int
find(const uint8_t *data, Py_ssize_t size, int by_id, Py_ssize_t *places)
{
    Py_ssize_t client, end, start, stop;
    uint32_t length;
    uint8_t id_length;

    if (size < CLIENT_ID + 2) {
        return 0;
    }
    client = data[CLIENT_ID] << 8 | data[CLIENT_ID + 1];
    if (TO_TRANSACTIONAL_ID + client >= size) {
        return 0;
    }
    id_length = data[TO_TRANSACTIONAL_ID + client];
    end = TO_TOPIC + client + (id_length ? id_length - 1 : 0);
    if (id_length == EMPTY || id_length >= 0x80 || end >= size) {
        return 0;
    }
    end += by_id ? BEHIND_TOPIC_ID : data[end] + BEHIND_TOPIC_NAME;
    start = end;
    length = read_length(data, size, &start);
    /* The length is one more than that of the batch, 0 when there is none. */
    if (length <= ATTRIBUTES + 1 || (Py_ssize_t)(length - 1) != size - NO_TAGS - start) {
        return 0;
    }
    stop = size - NO_TAGS;
    if (!(data[start + ATTRIBUTES] & TRANSACTIONAL) != !id_length || data[stop] ||
        data[stop + 1] || data[stop + 2]) {
        return 0;
    }
    places[0] = end;
    places[1] = start;
    places[2] = stop;
    return 1;
}

static PyObject *
make_tuple(const uint8_t *data, const Py_ssize_t *places)
{
    PyObject *items[] = {
        PyLong_FromLong((int32_t)read_uint32(data + CORRELATION_ID)),
        PyBytes_FromStringAndSize((const char *)data + CLIENT_ID,
                                  places[0] - CLIENT_ID),
        PyLong_FromSsize_t(places[1]),
        PyLong_FromSsize_t(places[2]),
    };
    PyObject *tuple = PyTuple_New(4);
    for (int i = 0; i < 4; i++) {
        if (tuple == NULL || items[i] == NULL) {
            Py_XDECREF(tuple);
            tuple = NULL;
            Py_XDECREF(items[i]);
        }
        else {
            PyTuple_SetItem(tuple, i, items[i]); /* takes it over */
        }
    }
    return tuple;
}

PyObject *
find_usual_batch(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    int64_t by_id;
    Py_ssize_t places[3];
    Py_buffer frame;
    PyObject *found = NULL;

    if (!check_argument_count(given, 2) || !read_numbers(arguments + 1, &by_id, 1)) {
        return NULL;
    }
    if (PyObject_GetBuffer(arguments[0], &frame, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    const uint8_t *data = frame.buf;
    if (find(data, frame.len, by_id != 0, places)) {
        found = make_tuple(data, places);
    }
    else {
        found = Py_None;
        Py_INCREF(found);
    }
    PyBuffer_Release(&frame);
    return found;
}
