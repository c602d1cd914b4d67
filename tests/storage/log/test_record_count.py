"""Counting records where offsets alone would be wrong."""

from odradek.protocol.control_records import ControlType
from odradek.protocol.record_batch import pack_header, read_header, restamp_crc
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.log.record_count import count_records
from odradek.storage.log.unified_log import UnifiedLog
from tests.storage.logs import NOW, Producer, marker, new_log, produce, sync


def compacted(base_offset: int, last_offset: int, count: int) -> bytearray:
    """A batch of a span of offsets, of which compaction has left ``count``."""
    records = [NewRecord(b"%d" % number, b"v", NOW) for number in range(count)]
    batch = build_batch(records, base_offset=base_offset)
    header = read_header(batch)._replace(last_offset_delta=last_offset - base_offset)
    pack_header(batch, header)
    restamp_crc(batch)
    return batch


def offsets_above_high_watermark(log: UnifiedLog) -> int:
    return log.log_end_offset - log.high_watermark


def test_t056_records_between_hw_and_leo_with_compaction_gaps() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    log.replica_appender.append_as_follower(compacted(5, 14, 3), NOW)
    log.replica_appender.append_as_follower(compacted(40, 49, 2), NOW)
    assert offsets_above_high_watermark(log) == 45
    assert log.count_records_above_high_watermark() == 5
    sync(log)
    assert log.count_records_above_high_watermark() == 0


def test_end_markers_are_no_records() -> None:
    log = new_log()
    produce(log, 3, producer=Producer(7, 0, 0), is_transactional=True)
    marker(log, ControlType.COMMIT)
    assert log.log_end_offset == 4
    assert count_records(log, 0) == 3


def test_a_start_inside_of_a_batch_counts_what_follows() -> None:
    log = new_log()
    for _ in range(40):
        produce(log, 3)
    assert [count_records(log, start) for start in (0, 1, 119, 120)] == [120, 119, 1, 0]


def test_what_is_below_the_log_start_is_not_counted() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    log.increment_log_start(2)
    assert count_records(log, 0) == 3
