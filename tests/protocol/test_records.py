import contextlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol.errors import CorruptMessage, InvalidRecord, MessageTooLarge
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    check_crc,
    pack_header,
    read_header,
    restamp_crc,
    restamp_time,
    stamp,
)
from odradek.protocol.records import (
    NewRecord,
    Record,
    RecordsSummary,
    assemble,
    build_batch,
    iterate,
    summarize,
)
from tests.protocol.record_payloads import anything, nullable_bytes

CODECS = st.integers(0, 4)

new_records = st.lists(
    st.builds(
        NewRecord,
        key=nullable_bytes,
        value=nullable_bytes,
        timestamp=st.integers(-5, 2**62),
        headers=st.lists(st.tuples(st.text(max_size=5), nullable_bytes), max_size=2),
    ),
    min_size=1,
    max_size=8,
)


def as_read(records: list[NewRecord], base_offset: int = 0) -> list[Record]:
    return [
        Record(
            base_offset + place,
            record.timestamp,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
            tuple(
                (name, None if value is None else bytes(value))
                for name, value in record.headers
            ),
        )
        for place, record in enumerate(records)
    ]


@given(new_records, CODECS, st.integers(0, 2**40))
def test_what_is_built_is_read(
    records: list[NewRecord], codec: int, base_offset: int
) -> None:
    batch = build_batch(records, base_offset=base_offset, compression=codec)
    header = read_header(batch)
    assert check_crc(batch, header)
    assert header.size == len(batch)
    assert header.compression == codec
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert header.last_offset == base_offset + len(records) - 1
    assert list(iterate(batch)) == as_read(records, base_offset)


@given(new_records)
def test_summary_of_what_is_built(records: list[NewRecord]) -> None:
    batch = build_batch(records)
    header = read_header(batch)
    times = [record.timestamp for record in records]
    payload = memoryview(batch)[BATCH_OVERHEAD:]
    summary = summarize(payload, len(records), header.base_timestamp)
    null_keys = sum(record.key is None for record in records)
    place = times.index(max(times))
    assert summary == RecordsSummary(min(times), max(times), place, null_keys)
    assert summary.has_null_key == (null_keys > 0)


def test_malformed_records_are_invalid() -> None:
    with pytest.raises(InvalidRecord, match=r"^Record 0 of the batch"):
        summarize(b"\xff" * 20, 1, 0)


def test_fields_of_the_batch() -> None:
    batch = build_batch(
        [NewRecord(b"k", b"v", 5), NewRecord(b"k", b"v", 3)],
        base_offset=10,
        leader_epoch=2,
        producer_id=7,
        producer_epoch=8,
        base_sequence=9,
        is_transactional=True,
        is_control=True,
    )
    header = read_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (10, 2)
    assert (header.base_timestamp, header.max_timestamp) == (5, 5)
    assert (header.producer_id, header.producer_epoch) == (7, 8)
    assert (header.base_sequence, header.last_sequence) == (9, 10)
    assert header.is_transactional
    assert header.is_control
    assert header.magic == 2


def test_without_fields_the_batch_is_a_plain_clients() -> None:
    header = read_header(build_batch([NewRecord(b"k")]))
    assert (header.base_offset, header.partition_leader_epoch) == (0, -1)
    assert (header.producer_id, header.producer_epoch) == (-1, -1)
    assert (header.base_sequence, header.attributes) == (-1, 0)
    assert header.max_timestamp == -1


def test_log_append_time_is_the_time_of_every_record() -> None:
    records = [NewRecord(None, b"v", time) for time in (5, 3, 9)]
    batch = build_batch(records, log_append_time_ms=77)
    assert read_header(batch).is_log_append_time
    assert [record.timestamp for record in iterate(batch)] == [77, 77, 77]

    batch = build_batch(records)
    restamp_time(batch, 8, 88)
    assert [record.timestamp for record in iterate(batch)] == [88, 88, 88]


def test_offsets_follow_a_stamped_batch() -> None:
    batch = build_batch([NewRecord(b"a"), NewRecord(b"b")])
    stamp(batch, 1000, 4)
    assert [record.offset for record in iterate(batch)] == [1000, 1001]


def test_compacted_batch_keeps_its_offsets() -> None:
    batch = build_batch([NewRecord(None, b"v", 7 + i) for i in range(3)])
    header = read_header(batch)
    record_size = (len(batch) - BATCH_OVERHEAD) // 3
    kept = batch[BATCH_OVERHEAD + 2 * record_size :]
    cleaned = assemble(header._replace(records_count=1), kept)
    assert [(r.offset, r.timestamp) for r in iterate(cleaned)] == [(2, 9)]
    assert read_header(cleaned).last_offset == 2


def test_empty_batch_of_the_cleaner_has_no_records() -> None:
    header = read_header(build_batch([NewRecord(b"k", b"v", 5)]))
    empty = assemble(header._replace(records_count=0, base_timestamp=-1), b"")
    assert len(empty) == BATCH_OVERHEAD
    assert check_crc(empty, read_header(empty))
    assert list(iterate(empty)) == []


def test_strange_header_names_survive_a_rewrite() -> None:
    name = b"\xffbad".decode("utf-8", "surrogateescape")
    batch = build_batch([NewRecord(b"k", b"v", 1, [(name, b"1")])])
    assert b"\xffbad" in batch
    (record,) = iterate(batch)
    assert record.headers == ((name, b"1"),)


def test_cut_batch_is_corrupt() -> None:
    batch = build_batch([NewRecord(b"k", b"v")])
    for size in (0, 60, 61, len(batch) - 1):
        with pytest.raises(CorruptMessage):
            list(iterate(batch[:size]))


@pytest.mark.parametrize("count", [-1, 0, 2, 2**31 - 1])
def test_wrong_count_is_invalid(count: int) -> None:
    batch = build_batch([NewRecord(b"key", b"value" * 5)])
    pack_header(batch, read_header(batch)._replace(records_count=count))
    with pytest.raises(InvalidRecord):
        list(iterate(batch))


def test_decompressed_size_has_a_limit() -> None:
    batch = build_batch([NewRecord(b"k", bytes(10_000))], compression=1)
    assert len(list(iterate(batch, decompress_limit=11_000))) == 1
    with pytest.raises(MessageTooLarge):
        list(iterate(batch, decompress_limit=10_000))


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codec_is_invalid(codec: int) -> None:
    batch = build_batch([NewRecord(b"k", b"v")])
    pack_header(batch, read_header(batch)._replace(attributes=codec))
    restamp_crc(batch)
    with pytest.raises(InvalidRecord, match=f"no compression codec {codec}"):
        list(iterate(batch))


@given(anything, CODECS)
@settings(max_examples=200)
def test_iterate_yields_or_refuses(case: tuple[bytes, int], codec: int) -> None:
    payload, count = case
    header = read_header(build_batch([NewRecord()]))
    batch = assemble(header._replace(records_count=count), payload)
    batch[22] = codec  # compressed or not, it says so
    try:
        records = list(iterate(batch))
    except (CorruptMessage, InvalidRecord, MessageTooLarge):
        return
    assert len(records) == count


@given(st.data())
def test_iterate_survives_any_change_of_a_batch(data: st.DataObject) -> None:
    codec = data.draw(CODECS)
    batch = build_batch([NewRecord(b"key", b"v" * 50)] * 3, compression=codec)
    for _ in range(3):
        position = data.draw(st.integers(0, len(batch) - 1))
        batch[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptMessage, InvalidRecord, MessageTooLarge):
        list(iterate(batch))


def test_works_without_the_extension() -> None:
    code = (
        "import sys; sys.modules['odradek.protocol.speedups'] = None\n"
        "from odradek.protocol import records\n"
        "from odradek.protocol.plain import records as records_plain\n"
        "assert records.index_records is records_plain.index_records\n"
        "batch = records.build_batch([records.NewRecord(b'k', b'v', 5)])\n"
        "print(*records.iterate(batch), records.summarize(batch[61:], 1, 5))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "timestamp=5, key=b'k', value=b'v'" in done.stdout
    assert "max_timestamp=5" in done.stdout


def test_import_leaves_the_codecs_alone() -> None:
    code = "import sys, odradek.protocol.records; print('cramjam' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
