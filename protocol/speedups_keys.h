/* What compaction keeps of keys, and the batches that it reads. */
#ifndef ODRADEK_SPEEDUPS_KEYS_H
#define ODRADEK_SPEEDUPS_KEYS_H

#include "speedups.h"

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

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

/* Reads the slot of a key, or else the empty one where it would be, and says where it
 * is; NULL when the key is not there and no slot is empty. */
char *find_slot(const Table *table, const Record *record, Slot *slot);

/* Both answer 0, with an exception: where there is no room for a slot, or the secret has
 * another size; where what is at the start is no whole batch. */
int read_table(const Py_buffer *slots, const Py_buffer *secret, Table *table);
int read_batch(const uint8_t *at, Py_ssize_t left, Batch *batch);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
