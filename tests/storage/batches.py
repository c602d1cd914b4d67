"""Batches for tests of the log, and logs filled with them."""

from pathlib import Path

from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.files.files import Files
from odradek.storage.local.local_log import LocalLog
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/topic-0")


def batch(
    base_offset: int, count: int = 1, *, timestamp: int = 1000, value: bytes = b"value"
) -> bytearray:
    """``count`` records, the first at ``timestamp`` and each a ms later."""
    records = [
        NewRecord(value=value, timestamp=timestamp + number) for number in range(count)
    ]
    return build_batch(records, base_offset=base_offset)


def sized_batch(base_offset: int, size: int, *, timestamp: int = 1000) -> bytearray:
    """A batch of one record and exactly ``size`` bytes."""
    filling = size - len(batch(base_offset, value=b""))
    for length in range(filling, filling - 4, -1):  # varint lengths take 1 to 3 bytes
        made = batch(base_offset, timestamp=timestamp, value=bytes(length))
        if len(made) == size:
            return made
    raise AssertionError(f"no batch of {size} bytes")


def append(log: LogSegment | LocalLog, data: bytearray) -> None:
    """Append one batch as it is."""
    header = read_header(data)
    log.append(data, header.last_offset, header.max_timestamp, header.last_offset)


def new_segment(
    files: Files | None = None, base_offset: int = 0, **options: int
) -> LogSegment:
    files = files or FakeFiles()
    files.mkdir(DIRECTORY)
    config = LogConfig(**options)
    return LogSegment.create(files, DIRECTORY, base_offset, config, now_ms=0)


def filled_segment(
    files: Files | None = None, batches: int = 10, count: int = 5, **options: int
) -> LogSegment:
    """Batches of ``count`` records, timestamps 10 ms apart from batch to batch."""
    segment = new_segment(files, **options)
    for number in range(batches):
        append(segment, batch(number * count, count, timestamp=1000 + 10 * number))
    return segment


def reopened(segment: LogSegment) -> LogSegment:
    """The segment as the next process finds it; nothing is closed before."""
    return LogSegment(
        segment.files, segment.directory, segment.base_offset, segment.config, 0
    )


def new_log(files: Files | None = None, **options: int) -> LocalLog:
    return LocalLog.create(files or FakeFiles(), DIRECTORY, LogConfig(**options), 0)
