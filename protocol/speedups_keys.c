/* The last offset of each key of a log, for compaction.
 *
 * plain/last_offsets.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups_keys.h"

static inline uint64_t
rotate_left(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void
sip_rounds(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
    }
}

/* SipHash-2-4 with 128 bits (Aumasson, Bernstein), words as the machine has them. */
static inline void
digest_key(const uint64_t secret[2], const uint8_t *key, Py_ssize_t size,
           uint64_t digest[2])
{
    uint64_t v[4] = {
        secret[0] ^ 0x736f6d6570736575u,
        secret[1] ^ 0x646f72616e646f6du ^ 0xee,
        secret[0] ^ 0x6c7967656e657261u,
        secret[1] ^ 0x7465646279746573u,
    };
    uint64_t word, last = (uint64_t)size << 56;
    for (; size >= 8; size -= 8, key += 8) {
        memcpy(&word, key, 8);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    for (int i = 0; i < (int)size; i++) {
        last |= (uint64_t)key[i] << 8 * i;
    }
    v[3] ^= last;
    sip_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xee;
    sip_rounds(v, 4);
    digest[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    sip_rounds(v, 4);
    digest[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

char *
find_slot(const Table *table, const Record *record, Slot *slot)
{
    uint64_t digest[2];
    digest_key(table->secret, record->key, record->key_length, digest);
    Py_ssize_t place =
        (Py_ssize_t)((digest[0] >> 32) * (uint64_t)table->count >> 32);
    for (Py_ssize_t left = table->count; left > 0; left--) {
        char *at = table->slots + place * SLOT_SIZE;
        memcpy(slot, at, sizeof *slot);
        if (slot->next_offset == 0) {
            memcpy(slot->digest, digest, sizeof digest);
            return at;
        }
        if (slot->digest[0] == digest[0] && slot->digest[1] == digest[1]) {
            return at;
        }
        if (++place == table->count) {
            place = 0;
        }
    }
    return NULL;
}

int
read_table(const Py_buffer *slots, const Py_buffer *secret, Table *table)
{
    table->slots = slots->buf;
    table->count = slots->len / SLOT_SIZE;
    if (table->count < 1 || table->count > SLOT_COUNT_MAX) {
        PyErr_SetString(PyExc_BufferError, "1 to 2**31 slots of 24 bytes are needed");
        return 0;
    }
    if (secret->len != sizeof table->secret) {
        PyErr_SetString(PyExc_BufferError, "the secret has 16 bytes");
        return 0;
    }
    memcpy(table->secret, secret->buf, sizeof table->secret);
    return 1;
}

#define BASE_OFFSET_MAX (INT64_MAX - INT32_MAX - 1)

int
read_batch(const uint8_t *at, Py_ssize_t left, Batch *batch)
{
    int64_t size = 0;
    if (left >= BATCH_OVERHEAD) {
        size = (int64_t)(int32_t)read_uint32(at + 8) + LOG_OVERHEAD;
    }
    if (size < BATCH_OVERHEAD || size > left) {
        PyErr_SetString(PyExc_ValueError, "The batch is cut short.");
        return 0;
    }
    batch->start = at;
    batch->size = (Py_ssize_t)size;
    batch->base_offset = read_int64(at);
    batch->last_offset = batch->base_offset;
    batch->attributes = at[21] << 8 | at[22];
    batch->base_timestamp = read_int64(at + 27);
    batch->count = (int32_t)read_uint32(at + 57);
    int32_t delta = (int32_t)read_uint32(at + 23);
    if (batch->base_offset < 0 || batch->base_offset > BASE_OFFSET_MAX || delta < 0) {
        PyErr_SetString(PyExc_ValueError, "The batch has offsets that cannot be.");
        return 0;
    }
    batch->last_offset += delta;
    return check_count(batch->count, batch->size - BATCH_OVERHEAD);
}

typedef struct {
    Py_ssize_t position; /* behind the last batch that was taken in */
    Py_ssize_t added;
    int64_t latest_offset;
    int is_full;
} Mapped;

/* Answers 0, with an exception, when a record is malformed. */
static int
map_batch(const Batch *batch, const Table *table, int64_t start_offset,
          Py_ssize_t room, Mapped *mapped)
{
    const uint8_t *at = batch->start + BATCH_OVERHEAD;
    const uint8_t *end = batch->start + batch->size;
    Record record;
    Slot slot;

    for (Py_ssize_t place = 0; place < batch->count; place++) {
        const char *problem = read_record(&at, end, &record);
        if (problem != GOOD) {
            bad_record(place, problem);
            return 0;
        }
        int64_t offset = batch->base_offset + record.offset_delta;
        if (record.key_length < 0 || offset < start_offset) {
            continue;
        }
        char *found = find_slot(table, &record, &slot);
        int is_new = found != NULL && slot.next_offset == 0;
        if (found == NULL || (is_new && mapped->added == room)) {
            mapped->is_full = 1;
            return 1;
        }
        mapped->added += is_new;
        mapped->latest_offset = offset;
        slot.next_offset = (uint64_t)offset + 1;
        memcpy(found, &slot, sizeof slot);
    }
    return check_end(at, end);
}

static int
map_batches(const Py_buffer *data, const Table *table, int64_t start_offset,
            Py_ssize_t room, int stops_at, Mapped *mapped)
{
    const uint8_t *start = data->buf;
    Batch batch;

    while (mapped->position < data->len) {
        Py_ssize_t left = data->len - mapped->position;
        if (!read_batch(start + mapped->position, left, &batch)) {
            return 0;
        }
        if (batch.attributes & stops_at) {
            break;
        }
        if (batch.last_offset >= start_offset) {
            if (!map_batch(&batch, table, start_offset, room, mapped)) {
                return 0;
            }
            if (mapped->is_full) {
                break;
            }
            if (batch.last_offset > mapped->latest_offset) {
                mapped->latest_offset = batch.last_offset;
            }
        }
        mapped->position += batch.size;
    }
    return 1;
}

PyObject *
map_keys(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_WRITABLE, PyBUF_SIMPLE};
    enum { DATA, SLOTS, SECRET, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int64_t numbers[3];
    Mapped mapped = {.latest_offset = -1};
    Table table;

    if (!check_argument_count(given, BUFFERS + 3) ||
        !read_numbers(arguments + BUFFERS, numbers, 3)) {
        return NULL;
    }
    if (numbers[0] < 0) {
        PyErr_SetString(PyExc_ValueError, "the first offset is out of range");
        return NULL;
    }
    if (!get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    int is_good = read_table(&buffers[SLOTS], &buffers[SECRET], &table) &&
                  map_batches(&buffers[DATA], &table, numbers[0],
                              (Py_ssize_t)numbers[1], (int)numbers[2], &mapped);
    release_buffers(buffers, BUFFERS);
    if (!is_good) {
        return NULL;
    }
    return Py_BuildValue("(nnLN)", mapped.position, mapped.added,
                         (long long)mapped.latest_offset,
                         PyBool_FromLong(mapped.is_full));
}
