/* The module: what C does for records, batches and keys, each in a file of its own.
 *
 * speedups_records.c walks the records of one batch and checks every byte of them, at
 * about 10 ns each; speedups_usual.c does so with header and checksum of the batch that
 * most producers send; speedups_batches.c walks the batches of a log, with their checksums
 * (speedups_crc.c), at several gigabytes a second; speedups_keys.c notes the last offset
 * of each key and speedups_latest.c writes what stays, for compaction, at 0.1 to 0.6 µs a
 * key; speedups_commits.c finds what groups have committed, at 0.1 µs an offset;
 * speedups_columns.c makes columns of records, and speedups_encoding.c records of columns,
 * for the pipeline; speedups_json.c makes columns of JSON.
 *
 * The modules *_plain.py do the same in Python and serve where this was not built; tests
 * run both and compare, messages included. Beside speedups_json.c it is Arrow that does.
 *
 * Invariants of all of them: no byte is read and no pointer moved before the bytes up to
 * there are known to exist; nothing is allocated; a length is used only after it was
 * compared with what remains.
 */
#include "speedups.h"

static PyMethodDef methods[] = {
    {"summarize", (PyCFunction)(void (*)(void))summarize, METH_FASTCALL,
     "summarize(payload, count, base_timestamp, /)\n--\n\n"
     "Check all records of a batch; see plain.records.summarize."},
    {"index_records", (PyCFunction)(void (*)(void))index_records, METH_FASTCALL,
     "index_records(payload, count, rows, /)\n--\n\n"
     "Say where the fields of each record are; see plain.records.index_records."},
    {"check_usual", (PyCFunction)(void (*)(void))check_usual, METH_FASTCALL,
     "check_usual(batch, now_ms, before_max_ms, after_max_ms, takes_null_keys, /)"
     "\n--\n\n"
     "Check what most producers send, all of it; see plain.usual_batch."},
    {"find_usual_batch", (PyCFunction)(void (*)(void))find_usual_batch, METH_FASTCALL,
     "find_usual_batch(frame, by_id, /)\n--\n\n"
     "Say where the batch of a Produce is; see plain.usual_produce."},
    {"walk_batches", (PyCFunction)(void (*)(void))walk_batches, METH_FASTCALL,
     "walk_batches(data, columns, next_offset, offset_max, checks_crc, /)\n--\n\n"
     "Say what the headers of the batches hold; see plain.batch_columns."},
    {"map_keys", (PyCFunction)(void (*)(void))map_keys, METH_FASTCALL,
     "map_keys(data, slots, secret, start_offset, room, stops_at, /)\n--\n\n"
     "Note the last offset of each key; see plain.last_offsets."},
    {"keep_latest", (PyCFunction)(void (*)(void))keep_latest, METH_FASTCALL,
     "keep_latest(data, slots, secret, target, pinned, latest_offset, now_ms,"
     " stops_at, /)\n--\n\n"
     "Write what is the last of its key; see plain.last_offsets."},
    {"latest_commits", (PyCFunction)(void (*)(void))latest_commits, METH_FASTCALL,
     "latest_commits(data, slots, secret, rows, position, records_max, /)\n--\n\n"
     "Find the last offset for each group and partition; see plain.latest_commits."},
    {"walk_records", (PyCFunction)(void (*)(void))walk_records, METH_FASTCALL,
     "walk_records(data, positions, columns, /)\n--\n\n"
     "Say where the fields of many batches' records are; see plain.record_columns."},
    {"walk_headers", (PyCFunction)(void (*)(void))walk_headers, METH_FASTCALL,
     "walk_headers(data, positions, columns, /)\n--\n\n"
     "Say where the headers of records are; see plain.record_columns."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL,
     "gather(data, positions, lengths, offsets, target, /)\n--\n\n"
     "Copy many slices into one buffer; see plain.record_columns."},
    {"encode_columns", (PyCFunction)(void (*)(void))encode_columns, METH_FASTCALL,
     "encode_columns(keys, key_positions, key_lengths, values, value_positions,"
     " value_lengths, headers, header_positions, header_lengths, timestamps, target,"
     " first, /)\n--\n\n"
     "Write the records of rows while they fit; see plain.column_encoding."},
    {"place_keys", (PyCFunction)(void (*)(void))place_keys, METH_FASTCALL,
     "place_keys(data, positions, lengths, target, partitions, /)\n--\n\n"
     "Say which partitions keys go to; see plain.column_encoding."},
    {"read_objects", (PyCFunction)(void (*)(void))read_objects, METH_FASTCALL,
     "read_objects(data, offsets, kinds, states, cells, names, /)\n--\n\n"
     "Read JSON objects into columns, as long as nothing is in doubt."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "odradek.protocol.speedups",
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
