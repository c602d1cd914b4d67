"""Transactions of several producers, one record after another, over many segments.

The parts of a log that know about transactions, without the log: what is written is
kept as batches, and the segments get nothing but entries of their transaction index.
"""

from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
    read_marker,
)
from odradek.protocol.record_batch import BatchHeader, read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.local.aborted_transactions import collect_aborted
from odradek.storage.local.segments import LogSegments
from odradek.storage.producers.snapshot import snapshot_path
from odradek.storage.producers.states import CompletedTransaction, ProducerStates
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import TRANSACTION_INDEX
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import AbortedTransaction
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/t-0")
DAY_MS = 86_400_000
NOW = 1_700_000_000_000


class Step(NamedTuple):
    """What happens next: ``write``, ``plain``, ``commit``, ``abort`` or ``roll``."""

    kind: str
    producer_id: int
    count: int


def steps(max_size: int = 40) -> st.SearchStrategy[list[Step]]:
    kinds = ["write"] * 4 + ["commit", "abort", "abort", "plain", "roll"]
    step = st.builds(Step, st.sampled_from(kinds), st.integers(0, 3), st.integers(1, 3))
    return st.lists(step, max_size=max_size)


def new_segment(files: FakeFiles, base_offset: int) -> LogSegment:
    return LogSegment.create(files, DIRECTORY, base_offset, LogConfig(), NOW)


class InterleavedLog:
    """What is written, and beside it a plain account of what is visible to whom."""

    def __init__(self, all_steps: list[Step] = ()) -> None:
        self.files = FakeFiles()
        self.files.mkdir(DIRECTORY)
        self.states = ProducerStates(DAY_MS)
        self.end = 0
        self.batches: list[tuple[BatchHeader, bytes]] = []
        self.segments = LogSegments([new_segment(self.files, 0)])
        self.ended: list[CompletedTransaction] = []
        self.open: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        for step in all_steps:
            self.take(step)

    def take(self, step: Step) -> None:
        if step.kind == "roll":
            self.roll()
        elif step.kind in ("commit", "abort"):
            self.mark(step.producer_id, is_abort=step.kind == "abort")
        else:
            # Producers of plain records are others: within a transaction there is
            # nothing but its records.
            is_plain = step.kind == "plain"
            producer_id = step.producer_id + 10 * is_plain
            self.write(producer_id, step.count, is_transactional=not is_plain)

    def write(self, producer_id: int, count: int, is_transactional: bool) -> None:
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + count
        if is_transactional:
            self.open.setdefault(producer_id, self.end)
        batch = build_batch(
            [NewRecord(value=b"v", timestamp=NOW)] * count,
            base_offset=self.end,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        self._append(bytes(batch))

    def mark(self, producer_id: int, is_abort: bool) -> None:
        kind = ControlType.ABORT if is_abort else ControlType.COMMIT
        first = self.open.pop(producer_id, None)
        if first is not None:
            ended = CompletedTransaction(producer_id, first, self.end, is_abort)
            self.ended.append(ended)
        marker = EndTxnMarker(kind, 1)
        batch = build_marker_batch(marker, producer_id, 0, NOW, self.end)
        self._append(bytes(batch))

    def roll(self) -> None:
        if self.end > self.segments.last.base_offset:
            path = snapshot_path(DIRECTORY, self.end)
            self.files.put(path, self.states.encode())
            self.segments.add(new_segment(self.files, self.end))

    def _append(self, batch: bytes) -> None:
        header = read_header(batch)
        self.batches.append((header, batch))
        completed = self.states.add(header, batch, self.end, NOW)
        self.end = self.states.map_end_offset = header.next_offset
        self._note(completed, self.segments.last)

    def _note(
        self, completed: CompletedTransaction | None, segment: LogSegment
    ) -> None:
        """As the log does it: the index first, then the producers."""
        if completed is None:
            return
        producer_id, first_offset, last_offset, is_aborted = completed
        if is_aborted:
            stable = self.states.last_stable_offset(completed)
            segment.transactions.append(
                TransactionEntry(producer_id, first_offset, last_offset, stable)
            )
        self.states.complete(completed)

    def truncate_to(self, offset: int) -> None:
        """Forget what ends at ``offset`` or behind, in the files and in memory."""
        for segment in [s for s in self.segments if s.base_offset > offset]:
            segment.transactions.clear()
            self.segments.remove(segment.base_offset)
        self.segments.last.transactions.truncate_to(offset)
        self.batches = [each for each in self.batches if each[0].next_offset <= offset]
        self.end = offset
        self.states.truncate_and_reload(self.files, DIRECTORY, 0, offset, NOW)
        for header, batch in self.batches:
            completed = self.states.replay(header, batch)
            if completed is not None:
                self.states.complete(completed)

    def recover_from(self, base_offset: int) -> None:
        """Make indexes and producers anew from a segment on, as after a crash."""
        for segment in self.segments.values(base_offset, self.end + 1):
            segment.transactions.clear()
        self.states.truncate_and_reload(self.files, DIRECTORY, 0, base_offset, NOW)
        for header, batch in self.batches:
            completed = self.states.replay(header, batch)
            segment = self.segments.floor(header.base_offset)
            if completed is not None and header.base_offset < base_offset:
                self.states.complete(completed)
            else:
                self._note(completed, segment)

    # The plain account

    def aborted(self, fetch_offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """By the rule: not over before the range, and begun below its end."""
        return [
            AbortedTransaction(each.producer_id, each.first_offset)
            for each in self.ended
            if each.is_aborted
            and each.last_offset >= fetch_offset
            and each.first_offset < upper_bound
        ]

    def collected(
        self, fetch_offset: int, upper_bound: int
    ) -> list[AbortedTransaction]:
        return collect_aborted(self.segments, fetch_offset, upper_bound)

    def committed(self, fetch_offset: int, upper_bound: int) -> list[int]:
        """The base offsets of the batches in a range that a committed reader keeps."""
        return [
            header.base_offset
            for header, _ in self.batches
            if header.next_offset > fetch_offset
            and header.base_offset < upper_bound
            and not header.is_control
            and not (header.is_transactional and self._is_aborted(header))
        ]

    def _is_aborted(self, header: BatchHeader) -> bool:
        return any(
            each.is_aborted
            and each.producer_id == header.producer_id
            and each.first_offset <= header.base_offset < each.last_offset
            for each in self.ended
        )

    def index_files(self) -> dict[str, bytes]:
        return {
            path.name: self.files.content(path)
            for path in self.files.paths()
            if path.suffix == TRANSACTION_INDEX and self.files.content(path)
        }


def consume(log: InterleavedLog, fetch_offset: int, upper_bound: int) -> list[int]:
    """What a client keeps of a range, by the list that it gets with it.

    As the Java client: a transaction of the list begins at its first offset, its
    producer's batches are dropped from there to its next marker of an abort.
    """
    waiting = sorted(
        log.collected(fetch_offset, upper_bound), key=lambda each: each.first_offset
    )
    aborting: set[int] = set()
    kept = []
    for header, batch in log.batches:
        if header.next_offset <= fetch_offset or header.base_offset >= upper_bound:
            continue
        while waiting and waiting[0].first_offset <= header.last_offset:
            aborting.add(waiting.pop(0).producer_id)
        if header.is_control:
            if _is_abort(batch):
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            kept.append(header.base_offset)
    return kept


def _is_abort(batch: bytes) -> bool:
    marker = read_marker(batch)
    return marker is not None and not marker.is_commit
