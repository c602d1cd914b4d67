"""A compacted log, and rounds of cleaning it as the broker runs them."""

from collections.abc import Callable, Iterator
from typing import Unpack

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import BatchHeader, scan
from odradek.protocol.records import (
    BatchFields,
    NewRecord,
    Record,
    build_batch,
    iterate,
)
from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.plan import CleanedSegment, CleaningStats
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.files.files import Files
from odradek.storage.log.segment_replacement import SegmentReplacement
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.logs import EPOCH, NOW, new_log

RETENTION_MS = 1000
MAP_SIZE = 1 << 20


def compacted_log(files: Files | None = None, **options: object) -> UnifiedLog:
    options.setdefault("segment_bytes", 1 << 20)
    options.setdefault("delete_retention_ms", RETENTION_MS)
    return new_log(files, cleanup_policy=frozenset({"compact"}), **options)


def put(
    log: UnifiedLog,
    *pairs: tuple[bytes | None, bytes | None],
    timestamp: int = NOW,
    **fields: Unpack[BatchFields],
) -> int:
    """Append these keys and values in one batch; the offset of the first."""
    records = [NewRecord(key, value, timestamp) for key, value in pairs]
    batch = memoryview(build_batch(records, **fields))
    # Not as a client: no transaction is asked for, no sequence checked.
    return log.appender.append_as_leader(
        batch, EPOCH, NOW, AppendOrigin.REPLICATION
    ).base_offset


def end(log: UnifiedLog, producer_id: int, *, commits: bool, epoch: int = 0) -> int:
    """Append a marker; its offset."""
    kind = ControlType.COMMIT if commits else ControlType.ABORT
    batch = build_marker_batch(EndTxnMarker(kind, 0), producer_id, epoch, NOW)
    info = log.appender.append_as_leader(
        memoryview(batch), EPOCH, NOW, AppendOrigin.COORDINATOR
    )
    return info.base_offset


def write(log: UnifiedLog, text: str) -> None:
    """Append ``a1 b2 c- | a2``: keys with values, tombstones, segments."""
    for word in text.split():
        if word == "|":
            log.roll(NOW)
        else:
            value = None if word[1:] == "-" else word[1:].encode()
            put(log, (word[:1].encode(), value))
    log.visibility.raise_to(log.end_metadata)


def clean(
    log: UnifiedLog,
    first_dirty: int = 0,
    now_ms: int = NOW,
    map_size: int = MAP_SIZE,
) -> tuple[int, CleaningStats]:
    """One round over all that may be cleaned; where the next one begins."""
    log.visibility.raise_to(log.end_metadata)
    cleanable = find_cleanable(log, first_dirty, now_ms)
    plan = plan_round(log, cleanable, now_ms, map_size)
    cleaning = CleaningRound(log.local.files, plan)
    while (cleaned := cleaning.clean_next()) is not None:
        for old in take_in(log, cleaned, now_ms):
            old.delete_files()
    return cleaning.next_dirty_offset, cleaning.stats


def take_in(
    log: UnifiedLog,
    cleaned: CleanedSegment,
    now_ms: int = NOW,
    meanwhile: Callable[[], object] = lambda: None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> list[LogSegment]:
    """Let it take the place of what it was made of, which is returned."""
    replacement = SegmentReplacement(log, *cleaned[:2], now_ms)
    for job in replacement.steps(is_wanted):
        job()
        meanwhile()
    return replacement.old


def headers(log: UnifiedLog) -> list[BatchHeader]:
    """Of every batch in the log."""
    return [header for header, _ in _batches(log)]


def records(log: UnifiedLog) -> list[Record]:
    """Every record in the log, markers included."""
    return [record for _, batch in _batches(log) for record in iterate(batch)]


def content(log: UnifiedLog) -> str:
    """``0a1 3b2 4c-``: offset, key and value of every record that is no marker."""
    return " ".join(
        f"{record.offset}{(record.key or b'?').decode()}"
        + ("-" if record.value is None else record.value.decode())
        for header, batch in _batches(log)
        if not header.is_control
        for record in iterate(batch)
    )


def _batches(log: UnifiedLog) -> Iterator[tuple[BatchHeader, memoryview]]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, FetchIsolation.LOG_END, may_block=True)
        view = memoryview(data.records)
        if not len(view):
            return
        for position, header in scan(view):
            offset = header.next_offset
            yield header, view[position : position + header.size]
