"""Transactions in whole logs, through rolls, crashes, truncations and restarts.

A log gets random transactions of several producers. After every step its last stable
offset, and what a committed reader gets from any offset, are those of a plain list.
"""

import os
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
    read_marker,
)
from odradek.protocol.record_batch import BatchHeader, read_header, scan
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_read import AbortedTransaction, FetchIsolation
from tests.storage.logs import NOW, append, files_of, new_log, reopened, sync

EXAMPLES = 1500 if os.environ.get("ODRADEK_LONG") else 40
COMMITTED = FetchIsolation.TXN_COMMITTED


class Step(NamedTuple):
    """``amount`` is of records, or how far a truncation goes back."""

    kind: str
    producer_id: int = 0
    amount: int = 1


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(
            ["write"] * 6
            + ["commit", "abort", "abort", "plain", "sync", "snapshot"]
            + ["kill", "power cut", "stop", "truncate", "start"]
        ),
        st.integers(0, 2),
        st.integers(1, 3),
    ),
    max_size=35,
)


class Ended(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class Model:
    """A log, and the headers of its batches with what became of each transaction."""

    def __init__(self) -> None:
        self.log = new_log(segment_bytes=500)
        self.batches: list[tuple[BatchHeader, bytes]] = []
        self.durable = 0
        sync(self.log)  # the directory is there after any crash

    def take(self, step: Step) -> None:
        kind = step.kind
        if kind in ("write", "plain"):
            self._write(step, is_transactional=kind == "write")
        elif kind in ("commit", "abort"):
            self._mark(step.producer_id, kind == "abort")
        elif kind in ("sync", "snapshot"):
            self._sync(with_snapshot=kind == "snapshot")
        elif kind == "truncate":
            self._truncate(step.amount)
        elif kind == "start":
            self._raise_log_start(step.amount)
        else:
            self._restart(kind)

    def _write(self, step: Step, is_transactional: bool) -> None:
        producer_id = step.producer_id + 10 * (not is_transactional)
        batch = build_batch(
            [NewRecord(value=b"v", timestamp=NOW)] * step.amount,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self._next_sequence(producer_id),
            is_transactional=is_transactional,
        )
        append(self.log, batch)
        self._note(batch)

    def _next_sequence(self, producer_id: int) -> int:
        known = self.log.producers.get(producer_id)
        return 0 if known is None else known.last_sequence + 1

    def _mark(self, producer_id: int, is_abort: bool) -> None:
        kind = ControlType.ABORT if is_abort else ControlType.COMMIT
        batch = build_marker_batch(EndTxnMarker(kind, 0), producer_id, 0, NOW)
        append(self.log, batch, AppendOrigin.COORDINATOR)
        self._note(batch)

    def _note(self, batch: bytearray) -> None:
        self.batches.append((read_header(batch), bytes(batch)))
        assert self.batches[-1][0].next_offset == self.log.log_end_offset

    def _sync(self, with_snapshot: bool) -> None:
        sync(self.log, with_snapshot)
        self.durable = self.log.log_end_offset

    def _raise_log_start(self, count: int) -> None:
        """Not into a transaction: what is known of it then depends on restarts."""
        start = min(self.log.high_watermark, self.log.log_start_offset + count)
        ended, still_open = self.transactions()
        if not any(first < start for first in still_open.values()) and not any(
            each.first_offset < start <= each.last_offset for each in ended
        ):
            self.log.increment_log_start(start)

    def _truncate(self, count: int) -> None:
        ends = [header.base_offset for header, _ in self.batches[-count:]]
        offset = max([self.log.log_start_offset, *ends[:1]])
        self.log.truncation.truncate_to(offset, NOW)
        self._drop_from(offset)
        self._sync(with_snapshot=False)  # before that, a power cut undoes it

    def _restart(self, kind: str) -> None:
        start, point = self.log.log_start_offset, self.log.recovery_point
        was_clean = kind == "stop" and self.log.close()
        if kind == "power cut":
            files_of(self.log).power_cut()
        if was_clean:
            point = self.log.log_end_offset
        self.log = reopened(
            self.log,
            was_clean=was_clean,
            recovery_point=point,
            log_start_offset=start,
        )
        assert self.durable <= self.log.log_end_offset
        self._drop_from(self.log.log_end_offset)
        self.durable = self.log.log_end_offset

    def _drop_from(self, end: int) -> None:
        """What ends behind ``end`` is gone."""
        self.batches = [each for each in self.batches if each[0].next_offset <= end]
        self.durable = min(self.durable, end)

    # The plain account

    def transactions(self) -> tuple[list[Ended], dict[int, int]]:
        """Those that have ended, and the first offsets of those that are open."""
        ended: list[Ended] = []
        still_open: dict[int, int] = {}
        for header, batch in self.batches:
            producer_id = header.producer_id
            if header.is_control:
                marker = read_marker(batch)
                assert marker is not None
                first = still_open.pop(producer_id, None)
                if first is not None:
                    last = header.last_offset
                    ended.append(Ended(producer_id, first, last, not marker.is_commit))
            elif header.is_transactional:
                still_open.setdefault(producer_id, header.base_offset)
        return ended, still_open

    def check(self) -> None:
        log = self.log
        ended, still_open = self.transactions()
        high = log.high_watermark
        unreplicated = [each.first_offset for each in ended if each.last_offset >= high]
        first_unstable = min([*still_open.values(), *unreplicated, high])
        assert log.last_stable_offset == max(first_unstable, log.log_start_offset)
        for size in (1, 1 << 20):
            self._check_reader(ended, size)

    def _check_reader(self, ended: list[Ended], size_max: int) -> None:
        offset = self.log.log_start_offset
        kept: list[int] = []
        while True:
            data = self.log.read(offset, size_max, COMMITTED, may_block=True)
            assert data.aborted is not None
            batches = [
                (header, bytes(data.records[at : at + header.size]))
                for at, header in scan(data.records)
            ]
            end = batches[-1][0].next_offset if batches else offset
            assert data.aborted == [
                AbortedTransaction(each.producer_id, each.first_offset)
                for each in ended
                if batches
                and each.is_aborted
                and each.last_offset >= offset
                and each.first_offset < end
            ]
            kept += consume(batches, data.aborted)
            if not batches:
                break
            offset = end
        assert kept == self._committed(ended)

    def _committed(self, ended: list[Ended]) -> list[int]:
        start, end = self.log.log_start_offset, self.log.last_stable_offset
        aborted = [each for each in ended if each.is_aborted]
        return [
            header.base_offset
            for header, _ in self.batches
            if header.next_offset > start
            and max(header.base_offset, start) < end
            and not header.is_control
            and not any(
                each.producer_id == header.producer_id
                and each.first_offset <= header.base_offset < each.last_offset
                for each in aborted
            )
        ]


def consume(
    batches: list[tuple[BatchHeader, bytes]], aborted: list[AbortedTransaction]
) -> list[int]:
    """What a client keeps of one answer, as the Java client does it."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    aborting: set[int] = set()
    kept = []
    for header, batch in batches:
        while waiting and waiting[0].first_offset <= header.last_offset:
            aborting.add(waiting.pop(0).producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            kept.append(header.base_offset)
    return kept


WRITE, ABORT, COMMIT = Step("write"), Step("abort"), Step("commit")
SYNC, PLAIN = Step("sync"), Step("plain")
OTHER = [Step("write", 1)] * 5 + [Step("abort", 1)]


@settings(max_examples=EXAMPLES)
@example([WRITE, SYNC, ABORT, SYNC, Step("power cut")])
@example([WRITE, ABORT, Step("kill"), Step("power cut")])
@example([WRITE, *OTHER, ABORT, SYNC])
@example([WRITE, ABORT, SYNC, PLAIN, Step("truncate")])
@example([WRITE, ABORT, Step("truncate"), COMMIT, SYNC])
@example([WRITE, Step("truncate"), PLAIN, SYNC])
@example([WRITE, *OTHER, Step("snapshot"), ABORT, SYNC, Step("stop"), WRITE, COMMIT])
@given(STEPS)
def test_committed_readers_see_what_was_committed(steps: list[Step]) -> None:
    model = Model()
    for step in steps:
        model.take(step)
        model.check()
