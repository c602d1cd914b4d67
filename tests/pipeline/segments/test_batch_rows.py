from pathlib import Path

import pytest

from odradek.pipeline.records.damage import CorruptData, OnCorrupt
from odradek.pipeline.segments.batch_rows import (
    BATCH_DDL,
    BATCH_TYPES,
    BatchesToArrow,
    read_batches,
)
from odradek.pipeline.segments.planning import plan_segments
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import (
    CODEC_NAMES,
    COMPRESSION_ZSTD,
    BatchHeader,
    codec_name,
    scan,
)
from odradek.protocol.records import NewRecord, build_batch
from tests.pipeline.log_directories import (
    END,
    log_file,
    make_directory,
    small_batches,
    wanted,
)
from tests.pipeline.walks import PLACE
from tests.protocol.walked_batches import laid_out

NAMES = tuple(BATCH_TYPES)


def mixed() -> bytes:
    made = [
        build_batch(
            [NewRecord(b"k", b"v", 5)] * (n + 1),
            compression=n,
            producer_id=n,
            producer_epoch=1,
            base_sequence=7,
            leader_epoch=2,
            is_transactional=n == COMPRESSION_ZSTD,
            log_append_time_ms=77 if n == 1 else None,
        )
        for n in range(len(CODEC_NAMES))
    ]
    made.append(build_marker_batch(EndTxnMarker(ControlType.COMMIT, 0), 4, 1, 9))
    return laid_out(made)


def check(row: dict[str, object], header: BatchHeader) -> None:
    assert row["problem"] is None
    assert (row["topic"], row["partition"]) == PLACE
    assert row["size"] == header.size
    assert (row["baseOffset"], row["lastOffset"]) == (
        header.base_offset,
        header.last_offset,
    )
    assert row["records"] == header.records_count
    assert row["codec"] == codec_name(header.compression)
    assert row["leaderEpoch"] == 3
    assert row["timestampType"] == int(header.is_log_append_time)
    assert row["isTransactional"] is header.is_transactional
    assert row["isControl"] is header.is_control
    assert row["producerId"] == header.producer_id
    assert row["producerEpoch"] == header.producer_epoch
    assert row["baseSequence"] == header.base_sequence


def rows(data: bytes, start: int = 0, end: int = END) -> list[dict[str, object]]:
    decoder = BatchesToArrow(PLACE, NAMES)
    return [
        row
        for batch in decoder.decode(memoryview(data), start, end)
        for row in batch.to_pylist()
    ]


def test_a_row_for_each_batch() -> None:
    data = mixed()
    found = rows(data)
    headers = [header for _, header in scan(data)]
    for row, header in zip(found, headers, strict=True):
        check(row, header)
        assert row["position"] is None
        assert row["segment"] is None
    times = [row["maxTimestamp"].timestamp() for row in found]  # type: ignore[attr-defined]
    assert times == [each.max_timestamp / 1000 for each in headers]


def test_only_batches_that_have_the_wanted_offsets() -> None:
    decoder = BatchesToArrow(PLACE, ("baseOffset",))
    (found,) = decoder.decode(memoryview(mixed()), 2, 5)
    assert found.column("baseOffset").to_pylist() == [1, 3]
    assert decoder.next_offset >= 5


def test_damage_is_a_row(tmp_path: Path) -> None:
    data = small_batches(12)
    root = make_directory(tmp_path, data, segment_batches=6)
    changed = bytearray(log_file(root, 12).read_bytes())
    starts = [position for position, _ in scan(changed)]
    changed[starts[2] + 70] ^= 1
    log_file(root, 12).write_bytes(changed)
    found = [
        row
        for piece in plan_segments(root, wanted(0, 24))
        for batch in read_batches(piece, NAMES)
        for row in batch.to_pylist()
    ]
    assert len(found) == 12
    damaged = [row for row in found if row["problem"]]
    assert [
        {name: value for name, value in row.items() if value is not None}
        for row in damaged
    ] == [
        {
            "topic": "topic",
            "partition": 0,
            "segment": 12,
            "position": starts[2],
            "size": starts[3] - starts[2],
            "baseOffset": 16,
            "problem": "the checksum is wrong",
        }
    ]
    assert found[7]["position"] == starts[1]
    (piece,) = plan_segments(root, wanted(12, 24))
    skipped = read_batches(piece, NAMES, on_corrupt=OnCorrupt.SKIP)
    assert sum(batch.num_rows for batch in skipped) == 5
    with pytest.raises(CorruptData):
        list(read_batches(piece, NAMES, on_corrupt=OnCorrupt.FAIL))


def test_answers_with_nothing_but_damage_come_to_an_end() -> None:
    data = bytearray(small_batches(1))
    data[70] ^= 1
    decoder = BatchesToArrow(PLACE, ("problem",))
    (found,) = decoder.decode(memoryview(data), 0, END)
    assert found.column(0).to_pylist() == ["the checksum is wrong"]
    assert decoder.next_offset == 2
    decoder = BatchesToArrow(PLACE, ("problem",), on_corrupt=OnCorrupt.SKIP)
    assert list(decoder.decode(memoryview(data), 0, END)) == []
    decoder = BatchesToArrow(PLACE, ("problem",), on_corrupt=OnCorrupt.FAIL)
    with pytest.raises(CorruptData):
        list(decoder.decode(memoryview(data), 0, END))


def test_the_ddl_names_every_column() -> None:
    assert BATCH_DDL.startswith("topic string, partition int, segment bigint")
    assert BATCH_DDL.count(",") == len(BATCH_TYPES) - 1
