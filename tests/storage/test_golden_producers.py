"""The producers and aborted transactions in Kafka's logs, made again from the batches.

Every snapshot and every transaction index that Apache Kafka wrote beside a log comes
out byte for byte when the log is replayed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import BatchHeader, scan
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from odradek.storage.producers.snapshot import SnapshotCorrupt, decode_snapshot
from odradek.storage.producers.states import ProducerStates

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1"
FOREVER_MS = 1 << 62


def partitions() -> list[Path]:
    return sorted({path.parent for path in GOLDEN.glob("*/log-dir/*/*.snapshot")})


class Replay:
    """A partition's log, read from its start; what it should have had beside it."""

    def __init__(self, directory: Path) -> None:
        self.states = ProducerStates(FOREVER_MS)
        self.snapshots: dict[int, bytes] = {}
        self.indexes: dict[str, bytes] = {}
        self.last_offsets: set[int] = set()
        wanted = sorted(int(path.stem) for path in directory.glob("*.snapshot"))
        for log in sorted(directory.glob("*.log")):
            entries = []
            for header, batch in _batches(log):
                while wanted and wanted[0] <= header.base_offset:
                    self.snapshots[wanted.pop(0)] = self.states.encode()
                self.last_offsets.add(header.last_offset)
                entries += self._replay(header, batch)
            if entries:
                data = b"".join(map(pack_transaction_entry, entries))
                self.indexes[f"{log.stem}.txnindex"] = data
        self.snapshots.update(dict.fromkeys(wanted, self.states.encode()))

    def _replay(
        self, header: BatchHeader, batch: memoryview
    ) -> Iterator[TransactionEntry]:
        completed = self.states.replay(header, batch)
        if completed is None:
            return
        producer_id, first_offset, last_offset, is_aborted = completed
        stable = self.states.last_stable_offset(completed)
        self.states.complete(completed)
        if is_aborted:
            yield TransactionEntry(producer_id, first_offset, last_offset, stable)


def _batches(log: Path) -> Iterator[tuple[BatchHeader, memoryview]]:
    data = memoryview(log.read_bytes())
    try:
        for position, header in scan(data):
            yield header, data[position : position + header.size]
    except CorruptMessage:
        assert log.parents[2].name == "zero-tail", log


@pytest.mark.parametrize("directory", partitions(), ids=lambda path: path.parts[-3])
def test_kafkas_snapshots_and_indexes_come_out_of_the_log(directory: Path) -> None:
    replay = Replay(directory)
    for offset, made in replay.snapshots.items():
        kafkas = (directory / f"{offset:020d}.snapshot").read_bytes()
        try:
            known = {state.last_offset for state in decode_snapshot(kafkas)}
        except SnapshotCorrupt:
            assert directory.parts[-3] == "snapshot-garbled"
            continue
        # What was deleted or compacted away cannot be replayed.
        if known <= replay.last_offsets | {-1}:
            assert made == kafkas, offset
    for path in directory.glob("*.txnindex"):
        assert replay.indexes.pop(path.name) == path.read_bytes(), path
    assert not replay.indexes


def test_nearly_all_of_them_are_compared() -> None:
    compared = 0
    for directory in partitions():
        replay = Replay(directory)
        for offset in replay.snapshots:
            kafkas = (directory / f"{offset:020d}.snapshot").read_bytes()
            compared += replay.snapshots[offset] == kafkas
    assert compared >= 150
