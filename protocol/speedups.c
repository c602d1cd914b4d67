/* Walks the records of a batch and checks every byte of them, at about 10 ns each; the
 * batches of a log, with their checksums, at several gigabytes a second; and, for
 * compaction, the keys of a log, at 0.1 to 0.6 µs each.
 *
 * records_plain.py, batch_columns_plain.py and last_offsets_plain.py do the same in
 * Python and serve where this was not built; tests run both and compare, messages
 * included. speedups_columns.c is the other half, for the pipeline, and speedups_crc.c
 * has the checksum.
 *
 * Invariants: no byte is read and no pointer moved before the bytes up to there are
 * known to exist; nothing is allocated; a length is used only after it was compared
 * with what remains.
 */
#include "speedups.h"

#define INDEX_COLUMNS 6
#define INDEX_ROW_SIZE ((Py_ssize_t)(INDEX_COLUMNS * sizeof(int64_t)))

static PyObject *
summarize_buffer(const Py_buffer *payload, Py_ssize_t count, int64_t base_timestamp)
{
    const uint8_t *at = payload->buf, *end = at + payload->len;
    int64_t timestamp, timestamp_min = -1, timestamp_max = -1;
    Py_ssize_t place_of_max = -1, null_keys = 0;
    const char *problem;
    Record record;

    if (!check_count(count, payload->len)) {
        return NULL;
    }
    for (Py_ssize_t place = 0; place < count; place++) {
        problem = read_record(&at, end, &record);
        if (problem == GOOD && record.attributes != 0) {
            problem = BAD_ATTRIBUTES;
        }
        if (problem == GOOD && record.offset_delta != place) {
            problem = BAD_OFFSET;
        }
        if (problem != GOOD) {
            return bad_record(place, problem);
        }
        /* Wraps as Java's long does; unsigned, for C leaves the other undefined. */
        timestamp = (int64_t)((uint64_t)base_timestamp +
                              (uint64_t)record.timestamp_delta);
        if (place == 0 || timestamp > timestamp_max) {
            timestamp_max = timestamp;
            place_of_max = place;
        }
        if (place == 0 || timestamp < timestamp_min) {
            timestamp_min = timestamp;
        }
        null_keys += record.key_length < 0;
    }
    if (!check_end(at, end)) {
        return NULL;
    }
    return Py_BuildValue("(LLnn)", (long long)timestamp_min,
                         (long long)timestamp_max, place_of_max, null_keys);
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

#define CRC_START 21

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

/* The last offset of each key, for compaction. A table is a caller's buffer of slots,
 * all zero when it is empty; a digest is looked for from the slot on that it points to.
 * 128 bits of a keyed hash: who does not know the secret cannot make two keys meet. */
typedef struct {
    uint64_t digest[2];
    uint64_t next_offset; /* the offset and one; 0 where nothing is */
} Slot;

_Static_assert(sizeof(Slot) == 24, "slots have no gaps");

#define SLOT_SIZE ((Py_ssize_t)sizeof(Slot))
#define SLOT_COUNT_MAX ((Py_ssize_t)1 << 31)

typedef struct {
    char *slots; /* may be unaligned */
    Py_ssize_t count;
    uint64_t secret[2];
} Table;

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

/* Reads the slot of a key, or else the empty one where it would be, and says where it
 * is; NULL when the key is not there and no slot is empty. */
static char *
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

/* A whole batch of which the checksum was compared before. */
typedef struct {
    const uint8_t *start;
    Py_ssize_t size;
    int64_t base_offset;
    int64_t last_offset;
    int64_t base_timestamp;
    Py_ssize_t count;
    int attributes;
} Batch;

#define LOG_APPEND_TIME 0x08
#define HAS_DELETE_HORIZON 0x40
#define BASE_OFFSET_MAX (INT64_MAX - INT32_MAX - 1)

/* Answers 0, with an exception, when what is at the start is no whole batch. */
static int
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

typedef struct {
    int64_t latest_offset; /* records behind it stay */
    int64_t now_ms;
    const Py_buffer *pinned; /* int64, increasing: where a batch may not just go */
    int stops_at;
} Rules;

typedef struct {
    Py_ssize_t position;
    Py_ssize_t size;    /* what was written */
    Py_ssize_t pending; /* and behind it, of a batch that the caller decides about */
    Py_ssize_t records_read;
    Py_ssize_t records_kept;
    Py_ssize_t null_keys;
    Py_ssize_t tombstones;
} Kept;

static inline void
write_uint32(uint8_t *at, uint32_t number)
{
    at[0] = (uint8_t)(number >> 24);
    at[1] = (uint8_t)(number >> 16);
    at[2] = (uint8_t)(number >> 8);
    at[3] = (uint8_t)number;
}

static int
is_pinned(const Py_buffer *pinned, int64_t offset)
{
    const char *offsets = pinned->buf;
    Py_ssize_t low = 0, high = pinned->len / (Py_ssize_t)sizeof(int64_t);
    int64_t found = -1;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        memcpy(&found, offsets + middle * (Py_ssize_t)sizeof found, sizeof found);
        if (found == offset) {
            return 1;
        }
        if (found < offset) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return 0;
}

/* The header of a batch of which not all records have stayed. */
static void
write_header(const Batch *batch, uint8_t *target, Py_ssize_t size, Py_ssize_t count,
             int64_t timestamp_delta_max)
{
    memcpy(target, batch->start, BATCH_OVERHEAD);
    write_uint32(target + 8, (uint32_t)(size - LOG_OVERHEAD));
    write_uint32(target + 57, (uint32_t)count);
    if (count > 0 && !(batch->attributes & LOG_APPEND_TIME)) {
        uint64_t timestamp =
            (uint64_t)batch->base_timestamp + (uint64_t)timestamp_delta_max;
        write_uint32(target + 35, (uint32_t)(timestamp >> 32));
        write_uint32(target + 39, (uint32_t)timestamp);
    }
    write_uint32(target + 17, compute_crc32c(target + CRC_START, size - CRC_START));
}

/* Writes what stays of a batch, of which the target has room for all. Answers 0, with
 * an exception, when a record is malformed. */
static int
keep_batch(const Batch *batch, const Table *table, const Rules *rules,
           uint8_t *target, Kept *kept)
{
    const uint8_t *at = batch->start + BATCH_OVERHEAD;
    const uint8_t *end = batch->start + batch->size;
    int64_t timestamp_delta_max = INT64_MIN;
    int keeps_tombstones = !(batch->attributes & HAS_DELETE_HORIZON) ||
                           batch->base_timestamp > rules->now_ms;
    Record record;
    Slot slot;

    *kept = (Kept){.size = BATCH_OVERHEAD, .records_read = batch->count};
    for (Py_ssize_t place = 0; place < batch->count; place++) {
        const uint8_t *start = at;
        const char *problem = read_record(&at, end, &record);
        if (problem != GOOD) {
            bad_record(place, problem);
            return 0;
        }
        int64_t offset = batch->base_offset + record.offset_delta;
        if (offset <= rules->latest_offset) {
            if (record.key_length < 0) {
                kept->null_keys++;
                continue;
            }
            if (find_slot(table, &record, &slot) != NULL && slot.next_offset != 0 &&
                (int64_t)(slot.next_offset - 1) > offset) {
                continue;
            }
            if (record.value_length < 0 && !keeps_tombstones) {
                continue;
            }
        }
        kept->tombstones += record.value_length < 0;
        kept->records_kept++;
        if (record.timestamp_delta > timestamp_delta_max) {
            timestamp_delta_max = record.timestamp_delta;
        }
        memcpy(target + kept->size, start, (size_t)(at - start));
        kept->size += at - start;
    }
    if (!check_end(at, end)) {
        return 0;
    }
    if (kept->records_kept == batch->count) {
        memcpy(target, batch->start, BATCH_OVERHEAD);
    }
    else {
        write_header(batch, target, kept->size, kept->records_kept,
                     timestamp_delta_max);
    }
    return 1;
}

static int
keep_batches(const Py_buffer *data, const Table *table, const Rules *rules,
             const Py_buffer *target, Kept *kept)
{
    const uint8_t *start = data->buf;
    uint8_t *written = target->buf;
    Batch batch;
    Kept one;

    while (kept->position < data->len) {
        Py_ssize_t left = data->len - kept->position;
        if (!read_batch(start + kept->position, left, &batch)) {
            return 0;
        }
        if (batch.attributes & rules->stops_at ||
            batch.size > target->len - kept->size) {
            break;
        }
        if (!keep_batch(&batch, table, rules, written + kept->size, &one)) {
            return 0;
        }
        kept->position += batch.size;
        kept->records_read += one.records_read;
        kept->records_kept += one.records_kept;
        kept->null_keys += one.null_keys;
        if (one.records_kept == 0
                ? is_pinned(rules->pinned, batch.last_offset)
                : one.tombstones > 0 && !(batch.attributes & HAS_DELETE_HORIZON)) {
            kept->pending = one.size;
            break;
        }
        kept->size += one.records_kept > 0 ? one.size : 0;
    }
    return 1;
}

static PyObject *
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

static PyObject *
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

static PyObject *
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

static int
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

static int
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

static PyObject *
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

static PyObject *
keep_latest(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_SIMPLE, PyBUF_SIMPLE,
                                PyBUF_WRITABLE, PyBUF_SIMPLE};
    enum { DATA, SLOTS, SECRET, TARGET, PINNED, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int64_t numbers[3];
    Kept kept = {0};
    Table table;

    if (!check_argument_count(given, BUFFERS + 3) ||
        !read_numbers(arguments + BUFFERS, numbers, 3) ||
        !get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Rules rules = {numbers[0], numbers[1], &buffers[PINNED], (int)numbers[2]};
    int is_good =
        read_table(&buffers[SLOTS], &buffers[SECRET], &table) &&
        keep_batches(&buffers[DATA], &table, &rules, &buffers[TARGET], &kept);
    release_buffers(buffers, BUFFERS);
    if (!is_good) {
        return NULL;
    }
    return Py_BuildValue("(nnnnnn)", kept.position, kept.size, kept.pending,
                         kept.records_read, kept.records_kept, kept.null_keys);
}

static PyMethodDef methods[] = {
    {"summarize", (PyCFunction)(void (*)(void))summarize, METH_FASTCALL,
     "summarize(payload, count, base_timestamp, /)\n--\n\n"
     "Check all records of a batch; see records_plain.summarize."},
    {"index_records", (PyCFunction)(void (*)(void))index_records, METH_FASTCALL,
     "index_records(payload, count, rows, /)\n--\n\n"
     "Say where the fields of each record are; see records_plain.index_records."},
    {"walk_batches", (PyCFunction)(void (*)(void))walk_batches, METH_FASTCALL,
     "walk_batches(data, columns, next_offset, offset_max, checks_crc, /)\n--\n\n"
     "Say what the headers of the batches hold; see batch_columns_plain."},
    {"map_keys", (PyCFunction)(void (*)(void))map_keys, METH_FASTCALL,
     "map_keys(data, slots, secret, start_offset, room, stops_at, /)\n--\n\n"
     "Note the last offset of each key; see last_offsets_plain."},
    {"keep_latest", (PyCFunction)(void (*)(void))keep_latest, METH_FASTCALL,
     "keep_latest(data, slots, secret, target, pinned, latest_offset, now_ms,"
     " stops_at, /)\n--\n\n"
     "Write what is the last of its key; see last_offsets_plain."},
    {"walk_records", (PyCFunction)(void (*)(void))walk_records, METH_FASTCALL,
     "walk_records(data, positions, columns, /)\n--\n\n"
     "Say where the fields of many batches' records are; see record_columns_plain."},
    {"walk_headers", (PyCFunction)(void (*)(void))walk_headers, METH_FASTCALL,
     "walk_headers(data, positions, columns, /)\n--\n\n"
     "Say where the headers of records are; see record_columns_plain."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL,
     "gather(data, positions, lengths, offsets, target, /)\n--\n\n"
     "Copy many slices into one buffer; see record_columns_plain."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "protocol.speedups",
    .m_doc = "The walks over batches, records and keys, in C.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_speedups(void)
{
    prepare_crc32c();
    return PyModuleDef_Init(&definition);
}
