"""A broker's logs at work on a recorded disk, with an account of what was promised.

What was acknowledged, deleted or aborted is written into the recording at the moment
at which a client may know of it; what is under way, at the moment at which it begins.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_config import LogConfig
from tests.crash.recording import Recording, RecordingFiles

ROOT = Path("/data")
NOW = 1_700_000_000_000
CONFIG = LogConfig(
    segment_bytes=700,
    index_interval_bytes=150,
    retention_bytes=2000,
    file_delete_delay_ms=0,
)
PRODUCER_EPOCH = 0


class NoLock:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def release(self) -> None: ...


class Abort(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True)
class Promised:
    """What clients know of one partition, and what they must not be surprised by.

    Of the records below ``end`` those from ``start_max`` on are there; those below
    ``start`` are not. ``written`` are all that were ever written, by offset. A batch
    of ``retries`` is known when it is sent again.
    """

    topic_id: bytes
    records: dict[int, bytes | None] = field(default_factory=dict)
    written: dict[int, set[bytes | None]] = field(default_factory=dict)
    end: int = 0
    start: int = 0
    start_max: int = 0
    leader_epoch: int = -1
    aborts: tuple[Abort, ...] = ()
    retries: tuple[bytes, ...] = ()
    is_being_deleted: bool = False


Promises = dict[TopicPartition, Promised]


def manager_on(files: RecordingFiles) -> LogManager:
    manager = LogManager([ROOT], files, cluster_id="c", node_id=1, take_lock=NoLock)
    manager.open()
    return manager


class PartitionAccount:
    """One partition: its log, what was written to it, and what was promised."""

    def __init__(self, session: "Session", log: UnifiedLog) -> None:
        self.log = log
        self.promised = Promised(log.topic_id)
        self.leader_epoch = 0
        self._session = session
        self._batches: list[bytes] = []
        self._sequences: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._aborts: list[Abort] = []

    def produce(
        self, count: int = 1, producer_id: int = -1, is_transactional: bool = False
    ) -> None:
        self._session.value_count += 1
        value = b"value %d" % self._session.value_count
        sequence = self._sequences.get(producer_id, 0)
        batch = build_batch(
            [NewRecord(b"%d" % each, value, NOW) for each in range(count)],
            producer_id=producer_id,
            producer_epoch=PRODUCER_EPOCH if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            is_transactional=is_transactional,
        )
        if producer_id >= 0:
            self._sequences[producer_id] = sequence + count
        if is_transactional:
            self._open.setdefault(producer_id, self.log.log_end_offset)
        self._append(batch, AppendOrigin.CLIENT)

    def end_transaction(self, producer_id: int, *, commits: bool) -> None:
        kind = ControlType.COMMIT if commits else ControlType.ABORT
        first, last = self._open.pop(producer_id), self.log.log_end_offset
        if not commits:
            self._aborts.append(Abort(producer_id, first, last))
        marker = build_marker_batch(
            EndTxnMarker(kind, 0), producer_id, PRODUCER_EPOCH, NOW
        )
        self._append(marker, AppendOrigin.COORDINATOR)

    def _append(self, batch: bytearray, origin: AppendOrigin) -> None:
        self.log.appender.append_as_leader(
            memoryview(batch), self.leader_epoch, NOW, origin
        )
        self._batches.append(bytes(batch))
        for record in iterate(memoryview(batch)):
            self.promised.written.setdefault(record.offset, set()).add(record.value)

    def sync(
        self, with_snapshot: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> None:
        """Acknowledge what is in the log now, not what comes ``meanwhile``."""
        ticket = self.log.syncing.begin(with_snapshot)
        if meanwhile is not None:
            meanwhile()
        if ticket is not None:
            ticket.run()
            self.log.syncing.finish(ticket)
        self.log.visibility.raise_to(self.log.recovery_point)
        self.acknowledge()

    def acknowledge(self) -> None:
        end = self.log.recovery_point
        headers = [read_header(each) for each in self._batches]
        durable = [
            batch
            for header, batch in zip(headers, self._batches, strict=True)
            if header.next_offset <= end
        ]
        last = {
            header.producer_id: batch
            for header, batch in zip(headers, durable, strict=False)
            if header.producer_id >= 0 and not header.is_control
        }
        self._promise(
            end=end,
            records={
                record.offset: record.value
                for batch in durable
                for record in iterate(memoryview(batch))
            },
            leader_epoch=max(
                (each.partition_leader_epoch for each in headers[: len(durable)]),
                default=-1,
            ),
            aborts=tuple(each for each in self._aborts if each.last_offset < end),
            retries=tuple(last.values()),
        )

    def delete_records(self, offset: int) -> None:
        self._promise(start_max=max(offset, self.promised.start_max))
        self.log.increment_log_start(offset)
        self._session.manager.log_starts_job([ROOT])()
        self._promise(start=offset)

    def retain(self) -> None:
        """What the periodic job does, and the removal of the files."""
        before = len(self._session.recording.changes)
        gone_count = self._session.manager.delete_old_segments(self.log, NOW)
        start = self.log.log_start_offset
        self._promise(before, start_max=max(start, self.promised.start_max))
        assert gone_count
        remove = self._session.manager.removal_job(NOW)
        assert remove is not None
        remove()

    def truncate(self, offset: int, *, is_fully: bool = False) -> None:
        """As a follower: nothing of what goes is promised any more."""
        keeps = 0 if is_fully else offset
        self._batches = [
            each for each in self._batches if read_header(each).next_offset <= keeps
        ]
        self._aborts = [each for each in self._aborts if each.last_offset < keeps]
        self._sequences.clear()
        self._open.clear()
        self._promise(
            end=min(keeps, self.promised.end),
            aborts=tuple(self._aborts),
            retries=(),
            leader_epoch=-1,
            start_max=max(offset if is_fully else 0, self.promised.start_max),
        )
        checkpoint = self._session.checkpoint
        if is_fully:
            self.log.truncation.truncate_fully_and_start_at(
                offset, NOW, checkpoint=checkpoint
            )
        else:
            self.log.truncation.truncate_to(offset, NOW, checkpoint)
        # Others go on from here.
        for state in self.log.producers:
            self._sequences[state.producer_id] = state.last_sequence + 1

    def delete(self) -> None:
        self._promise(is_being_deleted=True)
        self._session.manager.delete(self.log.topic_partition)
        self._session.checkpoint()

    def _promise(self, position: int | None = None, **changes: object) -> None:
        self.promised = replace(self.promised, **changes)  # type: ignore[arg-type]
        self._session.promise(position)


class Session:
    """One log directory from an empty disk on, through stops and kills."""

    def __init__(self, config: LogConfig = CONFIG) -> None:
        self.config = config
        self.files = RecordingFiles()
        self.recording: Recording[Promises] = self.files.record()  # type: ignore[assignment]
        self.recording.promise({})
        self.value_count = 0
        self.partitions: dict[TopicPartition, PartitionAccount] = {}
        self.manager = manager_on(self.files)

    def promise(self, position: int | None = None) -> None:
        promises = {key: each.promised for key, each in self.partitions.items()}
        self.recording.promise(promises, position)

    def create(self, partition: TopicPartition, topic_id: bytes) -> PartitionAccount:
        position = len(self.recording.changes)
        log = self.manager.create(partition, topic_id, self.config, None, NOW)
        account = self.partitions[partition] = PartitionAccount(self, log)
        self.promise(position)
        return account

    def delete(self, partition: TopicPartition) -> None:
        self.partitions[partition].delete()
        del self.partitions[partition]
        self.promise()

    def remove_files(self) -> None:
        remove = self.manager.removal_job(NOW)
        assert remove is not None
        remove()

    def checkpoint(self) -> None:
        self.manager.checkpoint_job()()

    def stop(self) -> None:
        """A clean stop, and the next start."""
        assert self.manager.close()
        for account in self.partitions.values():
            account.acknowledge()
        self._start()

    def kill(self) -> None:
        """The process ends; the page cache does not."""
        self._start()

    def _start(self) -> None:
        self.manager = manager_on(self.files)
        for partition, account in self.partitions.items():
            topic_id = account.promised.topic_id
            log = self.manager.load(partition, topic_id, self.config, NOW)
            self.manager.register(log)
            account.log = log
            account.leader_epoch += 1
            account.acknowledge()
