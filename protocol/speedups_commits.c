/* The offsets that groups have committed, of many batches at once: what a coordinator
 * reads when it is loaded.
 *
 * plain/latest_commits.py does the same in Python. Invariants: those of speedups.c.
 */
#include "speedups_keys.h"

#define NOT_PLAIN 0x37 /* compressed, of a transaction, or control */
#define OFFSET_KEY 1
#define NAMES_START 4    /* in a key: its kind, the length of the group's id */
#define KEY_SIZE_MIN 10  /* and the length of the topic's name, the partition */
#define VALUE_4_SIZE 42  /* with a topic id, without a note */
#define VALUE_3_SIZE 24  /* without either */
#define UUID_POSITION 26 /* of version 4 */
#define COLUMNS 10
#define ROW_SIZE ((Py_ssize_t)(COLUMNS * sizeof(int64_t)))

typedef struct {
    int64_t columns[COLUMNS]; /* those of plain/latest_commits.py, in its order */
} Row;

typedef struct {
    char *rows; /* may be unaligned */
    Py_ssize_t capacity;
    Py_ssize_t count;
} Rows;

typedef struct {
    Py_ssize_t position; /* behind the last batch that was taken */
    int64_t next_offset;
    Py_ssize_t records;
} Taken;

static inline int
read_int16(const uint8_t *at)
{
    return (int16_t)(at[0] << 8 | at[1]);
}

/* A group, a topic and a partition, and nothing else. */
static int
is_usual_key(const Record *record, int *group_length, int *topic_length)
{
    const uint8_t *key = record->key;
    int32_t size = record->key_length;

    if (size < KEY_SIZE_MIN || read_int16(key) != OFFSET_KEY) {
        return 0;
    }
    *group_length = read_int16(key + 2);
    if (*group_length < 0 || *group_length > size - KEY_SIZE_MIN) {
        return 0;
    }
    *topic_length = read_int16(key + NAMES_START + *group_length);
    return *topic_length == size - KEY_SIZE_MIN - *group_length;
}

/* Offset, leader epoch and time; where the topic's id is, or NULL. */
static int
read_value(const Record *record, int64_t numbers[3], const uint8_t **topic_id)
{
    const uint8_t *value = record->value, *time;

    if (record->value_length == VALUE_4_SIZE) {
        if (read_int16(value) != 4 || value[14] != 1 || value[23] != 1 || value[24] ||
            value[25] != 16) {
            return 0;
        }
        time = value + 15;
        *topic_id = value + UUID_POSITION;
    }
    else if (record->value_length == VALUE_3_SIZE) {
        if (read_int16(value) != 3 || read_int16(value + 14) != 0) {
            return 0;
        }
        time = value + 16;
        *topic_id = NULL;
    }
    else {
        return 0;
    }
    numbers[0] = read_int64(value + 2);
    numbers[1] = (int32_t)read_uint32(value + 10);
    numbers[2] = read_int64(time);
    return 1;
}

/* Whether a record was put into the row of its key; else it is not as most are, or
 * there is no row for it. */
static int
take_record(const uint8_t *data, const Batch *batch, const Record *record,
            const Table *table, Rows *rows)
{
    int64_t numbers[3], begun = read_int64(batch->start + 35);
    int group_length, topic_length;
    const uint8_t *topic_id;
    Slot slot;

    if (!is_usual_key(record, &group_length, &topic_length) ||
        !read_value(record, numbers, &topic_id)) {
        return 0;
    }
    if (rows->count == 0) { /* not sooner: most calls on other logs take nothing */
        memset(table->slots, 0, (size_t)(table->count * SLOT_SIZE));
    }
    char *found = find_slot(table, record, &slot);
    if (found == NULL) {
        return 0;
    }
    if (slot.next_offset == 0) {
        if (rows->count == rows->capacity) {
            return 0;
        }
        slot.next_offset = (uint64_t)++rows->count;
        memcpy(found, &slot, sizeof slot);
    }
    else {
        Row known;
        memcpy(&known, rows->rows + (Py_ssize_t)(slot.next_offset - 1) * ROW_SIZE,
               sizeof known);
        begun = known.columns[COLUMNS - 1];
    }
    const uint8_t *group = record->key + NAMES_START;
    Row row = {{
        group - data,
        group_length,
        topic_length,
        (int32_t)read_uint32(group + group_length + 2 + topic_length),
        numbers[0],
        numbers[1],
        numbers[2],
        topic_id == NULL ? -1 : topic_id - data,
        batch->base_offset + record->offset_delta,
        begun,
    }};
    memcpy(rows->rows + (Py_ssize_t)(slot.next_offset - 1) * ROW_SIZE, &row,
           sizeof row);
    return 1;
}

static int
take_batch(const uint8_t *data, const Batch *batch, const Table *table, Rows *rows)
{
    const uint8_t *at = batch->start + BATCH_OVERHEAD;
    const uint8_t *end = batch->start + batch->size;
    Record record;

    for (Py_ssize_t left = batch->count; left > 0; left--) {
        if (read_record(&at, end, &record) != GOOD ||
            !take_record(data, batch, &record, table, rows)) {
            return 0;
        }
    }
    return at == end;
}

static void
take_batches(const Py_buffer *data, const Table *table, Py_ssize_t records_max,
             Rows *rows, Taken *taken)
{
    const uint8_t *start = data->buf;
    Batch batch;

    while (taken->position < data->len) {
        if (!read_batch(start + taken->position, data->len - taken->position, &batch)) {
            PyErr_Clear(); /* the caller will see what it is */
            break;
        }
        if (batch.attributes & NOT_PLAIN || batch.count < 1 ||
            batch.count > records_max - taken->records ||
            !take_batch(start, &batch, table, rows)) {
            break;
        }
        taken->position += batch.size;
        taken->next_offset = batch.last_offset + 1;
        taken->records += batch.count;
    }
}

PyObject *
latest_commits(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    (void)module;
    static const int flags[] = {PyBUF_SIMPLE, PyBUF_WRITABLE, PyBUF_SIMPLE,
                                PyBUF_WRITABLE};
    enum { DATA, SLOTS, SECRET, ROWS, BUFFERS };
    Py_buffer buffers[BUFFERS];
    int64_t numbers[2];
    Table table;

    if (!check_argument_count(given, BUFFERS + 2) ||
        !read_numbers(arguments + BUFFERS, numbers, 2)) {
        return NULL;
    }
    if (numbers[0] < 0) {
        PyErr_SetString(PyExc_ValueError, "the position is out of range");
        return NULL;
    }
    if (!get_buffers(arguments, flags, buffers, BUFFERS)) {
        return NULL;
    }
    Taken taken = {(Py_ssize_t)numbers[0], -1, 0};
    Rows rows = {buffers[ROWS].buf, buffers[ROWS].len / ROW_SIZE, 0};
    int is_good = read_table(&buffers[SLOTS], &buffers[SECRET], &table);
    if (is_good) {
        take_batches(&buffers[DATA], &table, (Py_ssize_t)numbers[1], &rows, &taken);
    }
    release_buffers(buffers, BUFFERS);
    if (!is_good) {
        return NULL;
    }
    return Py_BuildValue("(nLnn)", taken.position, (long long)taken.next_offset,
                         taken.records, rows.count);
}
