from pathlib import Path

from odradek.pipeline.audit.span import AuditSpan, audit_piece, codec_counts
from odradek.pipeline.segments.planning import plan_segments
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import COMPRESSION_LZ4, read_header, scan, stamp
from odradek.protocol.records import NewRecord, build_batch
from tests.pipeline.log_directories import (
    log_file,
    make_directory,
    small_batches,
    wanted,
)
from tests.protocol.walked_batches import laid_out


def span_of(root: Path, data: bytes) -> AuditSpan:
    make_directory(root, data, segment_batches=100)
    (piece,) = plan_segments(root, wanted(0))
    return audit_piece(piece)


def test_sums(tmp_path: Path) -> None:
    record = NewRecord(b"k", b"v", 5)
    producer = {"producer_id": 9, "producer_epoch": 0, "is_transactional": True}
    data = laid_out(
        [
            build_batch([record] * 3),
            build_batch([record] * 2, compression=COMPRESSION_LZ4, **producer),  # type: ignore[arg-type]
            build_marker_batch(EndTxnMarker(ControlType.COMMIT, 0), 9, 0, 70),
        ]
    )
    span = span_of(tmp_path, data)
    assert span._replace(damages=()) == span
    assert (span.batches, span.records, span.size) == (3, 6, len(data))
    assert (span.base_offset, span.next_offset) == (0, 6)
    assert (span.missing_offsets, span.missing_records) == (0, 0)
    assert span.max_timestamp == 70
    assert codec_counts(span.codecs) == {"none": 2, "lz4": 1}
    assert (span.transactional_batches, span.control_batches) == (2, 1)
    assert span.producers == {9}
    assert str(span.place) == "topic-0"


def test_missing_offsets_and_records(tmp_path: Path) -> None:
    data = bytearray(small_batches(4))
    starts = [position for position, _ in scan(data)]
    for place in (2, 3):
        start = starts[place]
        size = read_header(data, start).size
        stamp(memoryview(data)[start : start + size], 2 * place + 5, 0)
    span = span_of(tmp_path, bytes(data))
    assert (span.missing_offsets, span.missing_records) == (5, 0)


def test_what_damage_took_is_not_missing_twice(tmp_path: Path) -> None:
    data = bytearray(small_batches(6))
    data[[position for position, _ in scan(data)][2] + 70] ^= 1
    span = span_of(tmp_path, bytes(data))
    assert span.missing_offsets == 0
    assert span.batches == 5
    assert [damage.next_offset for damage in span.damages] == [4]


def test_an_empty_piece_has_no_offsets(tmp_path: Path) -> None:
    root = make_directory(tmp_path, small_batches(2))
    log_file(root, 0).write_bytes(bytes(200))
    (piece,) = plan_segments(root, wanted(0))
    span = audit_piece(piece)
    assert (span.base_offset, span.next_offset, span.batches) == (-1, -1, 0)
    assert len(span.damages) == 1


def test_codecs_that_nobody_knows_are_counted() -> None:
    assert codec_counts((1, 0, 0, 0, 0, 0, 2, 0)) == {"none": 1, "codec 6": 2}
