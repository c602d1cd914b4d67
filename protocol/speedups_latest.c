/* What stays of a log when only the latest record of each key does, for compaction.
 *
 * plain/last_offsets.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups_keys.h"

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

PyObject *
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
