"""Partition logs in a file system in memory: made, written to, opened again."""

from pathlib import Path
from typing import NamedTuple

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, Record, build_batch, iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import Files
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import (
    Checkpointed,
    Surroundings,
    create_log,
    load_log,
)
from odradek.storage.producers.append_info import AppendInfo, AppendOrigin
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles

NOW = 1_700_000_000_000
ROOT = Path("/data")
DIRECTORY = ROOT / "topic-0"
PARTITION = TopicPartition("topic", 0)
TOPIC_ID = bytes(range(16))
EPOCH = 4


class Producer(NamedTuple):
    """Who sends a batch: nobody in particular, or an idempotent producer."""

    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = -1


ANYBODY = Producer()


def new_log(files: Files | None = None, **options: object) -> UnifiedLog:
    """A new log, with small segments unless ``segment_bytes`` says otherwise."""
    if files is None:
        files = FakeFiles()
    files.mkdir(ROOT)
    files.sync_directory(Path("/"))
    return create_log(
        PARTITION, TOPIC_ID, DIRECTORY, _config(options), Surroundings(files, NOW)
    )


def reopened(
    log: UnifiedLog,
    *,
    was_clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    now_ms: int = NOW,
) -> UnifiedLog:
    """The log as the next process finds it; nothing is closed before."""
    return load_log(
        PARTITION,
        TOPIC_ID,
        DIRECTORY,
        log.config,
        Checkpointed(was_clean, recovery_point, log_start_offset),
        Surroundings(log.local.files, now_ms),
    )


def produce(
    log: UnifiedLog,
    count: int = 1,
    *,
    producer: Producer = ANYBODY,
    value: bytes = b"value",
    timestamp: int = NOW,
    leader_epoch: int = EPOCH,
    is_transactional: bool = False,
) -> AppendInfo:
    """Append a batch of ``count`` records, the keys of which are their offsets."""
    start = log.log_end_offset
    batch = build_batch(
        [
            NewRecord(b"%d" % offset, value, timestamp)
            for offset in range(start, start + count)
        ],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=producer.sequence,
        is_transactional=is_transactional,
    )
    return append(log, batch, leader_epoch=leader_epoch)


def append(
    log: UnifiedLog,
    batch: bytearray,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    leader_epoch: int = EPOCH,
    now_ms: int = NOW,
) -> AppendInfo:
    """Append one batch as it is."""
    return log.appender.append_as_leader(
        memoryview(batch), leader_epoch, now_ms, origin
    )


def marker(
    log: UnifiedLog,
    kind: ControlType,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
) -> None:
    batch = build_marker_batch(
        EndTxnMarker(kind, coordinator_epoch), 7, producer_epoch, NOW
    )
    append(log, batch, AppendOrigin.COORDINATOR)


def sync(log: UnifiedLog, with_snapshot: bool = False) -> None:
    """What the committer does: all at once, and the high watermark follows."""
    ticket = log.syncing.begin(with_snapshot)
    if ticket is not None:
        ticket.run()
        log.syncing.finish(ticket)
    log.visibility.raise_to(log.recovery_point)


def read_all(
    log: UnifiedLog,
    isolation: FetchIsolation = FetchIsolation.LOG_END,
    start: int | None = None,
) -> list[Record]:
    """Every record that a consumer of this isolation sees, control records too.

    From ``start`` on, or from the log start.
    """
    records: list[Record] = []
    offset = log.log_start_offset if start is None else start
    while True:
        data = log.read(offset, 1 << 20, isolation, may_block=True).records
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            records += [each for each in iterate(batch) if each.offset >= offset]
            offset = max(offset, header.next_offset)
        if not len(data):
            return records


def offsets(log: UnifiedLog) -> list[int]:
    """The offsets of all records, each of which has its offset as the key."""
    records = read_all(log)
    assert all(record.key == b"%d" % record.offset for record in records)
    return [record.offset for record in records]


def files_of(log: UnifiedLog) -> FakeFiles:
    files = log.local.files
    assert isinstance(files, FakeFiles)
    return files


def filled(batches: int = 30, **options: object) -> UnifiedLog:
    """Some segments of batches of three records, by two producers, durable."""
    log = new_log(**options)
    for number in range(batches):
        produce(log, 3, producer=Producer(number % 2, 0, 3 * (number // 2)))
    sync(log)
    return log


def producers(log: UnifiedLog) -> dict[int, tuple[int, int, int]]:
    return {
        each.producer_id: (each.producer_epoch, each.last_sequence, each.last_offset)
        for each in log.producers
    }


def closed(log: UnifiedLog) -> UnifiedLog:
    assert log.close()
    return log


def _config(options: dict[str, object]) -> LogConfig:
    defaults: dict[str, object] = {"segment_bytes": 1000, "index_interval_bytes": 200}
    return LogConfig(**{**defaults, **options})  # type: ignore[arg-type]
