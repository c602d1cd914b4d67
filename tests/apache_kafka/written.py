"""Logs of every kind as odradek writes them, and what must be read from them.

A recipe fills a log; its `Journal` remembers each record at the offset it got.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import OsFiles
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_config import LogConfig
from tests.apache_kafka.node import CLUSTER_ID

NODE_ID = 1
NOW = 1_790_000_000_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class Sender(NamedTuple):
    """Nobody in particular, or an idempotent producer's next sequence."""

    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = -1


ANYBODY = Sender()


@dataclass
class Journal:
    """A log that is being filled, and what went into it."""

    log: UnifiedLog
    records: dict[int, NewRecord] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)
    open_since: int | None = None
    leader_epoch: int = 0

    def send(
        self,
        records: list[NewRecord],
        sender: Sender = ANYBODY,
        codec: str = "none",
        *,
        is_transactional: bool = False,
    ) -> list[int]:
        """Append one batch as a client does. Returns the offsets."""
        batch = build_batch(
            records,
            compression=CODECS[codec],
            producer_id=sender.producer_id,
            producer_epoch=sender.producer_epoch,
            base_sequence=sender.sequence,
            is_transactional=is_transactional,
        )
        start = self._append(batch, AppendOrigin.CLIENT)
        offsets = list(range(start, start + len(records)))
        self.records.update(zip(offsets, records, strict=True))
        return offsets

    def end(self, sender: Sender, kind: ControlType, offsets: list[int]) -> None:
        """Append the marker that ends a transaction of these ``offsets``."""
        marker = EndTxnMarker(kind, coordinator_epoch=0)
        batch = build_marker_batch(
            marker, sender.producer_id, sender.producer_epoch, NOW
        )
        self._append(batch, AppendOrigin.COORDINATOR)
        if kind is ControlType.ABORT:
            self.aborted.update(offsets)

    def _append(self, batch: bytearray, origin: AppendOrigin) -> int:
        info = self.log.appender.append_as_leader(
            memoryview(batch), self.leader_epoch, NOW, origin
        )
        return info.base_offset

    def sync(self) -> None:
        ticket = self.log.syncing.begin()
        if ticket is not None:
            ticket.run()
            self.log.syncing.finish(ticket)
        self.log.visibility.raise_to(self.log.durable_end)

    def readable(self, *, committed: bool) -> dict[int, NewRecord]:
        """What a consumer must get."""
        start = self.log.log_start_offset
        end = self.log.log_end_offset
        if committed and self.open_since is not None:
            end = self.open_since
        return {
            offset: record
            for offset, record in self.records.items()
            if start <= offset < end and not (committed and offset in self.aborted)
        }


Recipe = Callable[[Journal], None]


class Kind(NamedTuple):
    """A kind of log: the options it has in both brokers, and how it is filled."""

    options: dict[str, int]
    fill: Recipe


def _records(count: int, start: int = 0, size: int = 20) -> list[NewRecord]:
    return [
        NewRecord(b"key-%d" % number, b"%d-" % number + bytes(size), NOW + number)
        for number in range(start, start + count)
    ]


def _codec(name: str) -> Recipe:
    def fill(journal: Journal) -> None:
        for number in range(20):
            journal.send(_records(7, 7 * number), codec=name)

    return fill


def _shapes(journal: Journal) -> None:
    headers = (("a", b"1"), ("a", None), ("", b""), ("\u00fc", b"\x00"))
    journal.send([NewRecord(None, None, NOW)])
    journal.send([NewRecord(b"", b"", NOW), NewRecord(b"k", b"v", NOW + 5, headers)])
    journal.send([NewRecord(bytes([n]), bytes(n), NOW + 9 - n) for n in range(200)])
    for size in (62, 63, 64, 8190, 8191, 8192, 20_000):
        journal.send([NewRecord(b"size", b"x" * size, NOW)])


def _idempotent(journal: Journal) -> None:
    for number in range(60):
        sender = Sender(1000 + number % 2, 3, 5 * (number // 2))
        journal.send(_records(5, 5 * number), sender)


def _transactional(journal: Journal) -> None:
    """Interleaved transactions of three producers, over several segments."""
    sequences = {2000: 0, 2001: 0, 2002: 0}
    for turn in range(30):
        sent: dict[int, list[int]] = {}
        for producer_id in (*sequences, *sequences):
            sender = Sender(producer_id, 0, sequences[producer_id])
            records = _records(3, 3 * turn, size=100)
            offsets = journal.send(records, sender, is_transactional=True)
            sequences[producer_id] += 3
            sent.setdefault(producer_id, []).extend(offsets)
        for producer_id, offsets in sent.items():
            is_aborted = (turn + producer_id) % 3 == 0
            kind = ControlType.ABORT if is_aborted else ControlType.COMMIT
            journal.end(Sender(producer_id, 0), kind, offsets)
        journal.sync()
    journal.send(_records(2))


def _open_transaction(journal: Journal) -> None:
    journal.send(_records(5))
    journal.open_since = journal.send(
        _records(5), Sender(3000, 0, 0), is_transactional=True
    )[0]
    journal.send(_records(5))


def _deleted_from(journal: Journal) -> None:
    """Old segments are gone, and the log begins inside a batch."""
    _idempotent(journal)
    journal.sync()
    journal.log.increment_log_start(148)


def _epochs(journal: Journal) -> None:
    for epoch in (0, 1):  # Apache Kafka goes on with 2
        journal.leader_epoch = epoch
        journal.log.assign_epoch(epoch)
        for number in range(20):
            journal.send(_records(2, 2 * number, size=100))


KINDS: dict[str, Kind] = {
    **{f"codec-{name}": Kind({}, _codec(name)) for name in CODECS},
    "shapes": Kind({}, _shapes),
    "idempotent": Kind({"segment_bytes": 2000}, _idempotent),
    "transactional": Kind({"segment_bytes": 3000}, _transactional),
    "open-transaction": Kind({}, _open_transaction),
    "deleted-from": Kind({"segment_bytes": 2000}, _deleted_from),
    "epochs": Kind({"segment_bytes": 2000}, _epochs),
}


def write_logs(
    directory: Path, topic_ids: dict[str, bytes], cluster_id: str = CLUSTER_ID
) -> dict[str, Journal]:
    """Fill partition 0 of each kind's topic in ``directory`` and stop cleanly."""
    manager = LogManager([directory], OsFiles(), cluster_id=cluster_id, node_id=NODE_ID)
    manager.open()
    journals = {}
    for name, topic_id in topic_ids.items():
        kind = KINDS[name]
        config = LogConfig(index_interval_bytes=500, retention_ms=-1, **kind.options)
        log = manager.create(TopicPartition(name, 0), topic_id, config, None, NOW)
        journal = journals[name] = Journal(log)
        kind.fill(journal)
        journal.sync()
        manager.delete_old_segments(log, NOW)
    job = manager.removal_job(NOW + 3_600_000)
    if job is not None:
        job()
    assert manager.close()
    return journals
