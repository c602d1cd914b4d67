"""A whole log against a plain list of batches: readers, producers, damage, restarts.

Beside what `test_log_against_map` does with one producer there are transactions here,
readers of every isolation with every size, and bits that flip in sealed segments. A
flipped bit costs its batch, and nothing else.
"""

import os
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
    read_marker,
)
from odradek.protocol.errors import OffsetOutOfRange
from odradek.protocol.record_batch import BatchHeader, read_header, scan
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.log.retention import delete_old_segments
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.logs import NOW, append, files_of, new_log, reopened, sync
from tests.storage.test_transactions_model import Ended, consume

EXAMPLES, STEPS = (250, 40) if os.environ.get("ODRADEK_LONG") else (12, 40)
TRANSACTIONAL = (0, 1, 2)  # producer ids; ten above are those without transactions
BASE_OFFSET = range(8)
LEADER_EPOCH = range(12, 16)  # of the bytes of a batch: no checksum covers them


def without_epoch(batch: bytes) -> bytes:
    return batch[: LEADER_EPOCH.start] + batch[LEADER_EPOCH.stop :]


class Batch(NamedTuple):
    header: BatchHeader
    data: bytes


class LogAgainstList(RuleBasedStateMachine):
    """``batches`` is the list; damaged ones are in it too, and in ``damaged``."""

    def __init__(self) -> None:
        super().__init__()
        self.log = new_log(segment_bytes=500, index_interval_bytes=120)
        self.batches: list[Batch] = []
        self.damaged: set[int] = set()  # base offsets
        self.start = 0
        self.end = 0
        self.checkpoint = 0
        sync(self.log)  # the directory is there after any crash

    # Appends

    @rule(
        count=st.integers(1, 3),
        producer_id=st.integers(-1, 1),
        value=st.binary(max_size=40),
    )
    def append(self, count: int, producer_id: int, value: bytes) -> None:
        producer_id += 10 if producer_id >= 0 else 0
        self._append(count, producer_id, value, is_transactional=False)

    @rule(count=st.integers(1, 3), producer_id=st.sampled_from(TRANSACTIONAL))
    def append_in_transaction(self, count: int, producer_id: int) -> None:
        self._append(count, producer_id, b"in transaction", is_transactional=True)

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), commits=st.booleans())
    def end_transaction(self, producer_id: int, commits: bool) -> None:
        kind = ControlType.COMMIT if commits else ControlType.ABORT
        batch = build_marker_batch(EndTxnMarker(kind, 0), producer_id, 0, NOW)
        append(self.log, batch, AppendOrigin.COORDINATOR)
        self._note(batch)

    def _append(
        self, count: int, producer_id: int, value: bytes, *, is_transactional: bool
    ) -> None:
        state = self.log.producers.get(producer_id)
        sequence = 0 if state is None else state.last_sequence + 1
        has_producer = producer_id >= 0
        batch = build_batch(
            [NewRecord(b"%d" % (self.end + each), value, NOW) for each in range(count)],
            producer_id=producer_id,
            producer_epoch=0 if has_producer else -1,
            base_sequence=sequence if has_producer else -1,
            is_transactional=is_transactional,
        )
        again = bytearray(batch)
        info = append(self.log, batch)
        assert info.base_offset == self.end
        self._note(batch)
        if has_producer:
            repeated = append(self.log, again)
            assert repeated.is_duplicate
            assert repeated.base_offset == info.base_offset

    def _note(self, batch: bytearray) -> None:
        header = read_header(batch)
        self.batches.append(Batch(header, bytes(batch)))
        self.end = header.next_offset

    # What moves its ends

    @rule()
    @precondition(lambda self: self.log.local.active.size)
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule(with_snapshot=st.booleans())
    def sync(self, with_snapshot: bool) -> None:
        sync(self.log, with_snapshot)

    @rule()
    def write_checkpoint(self) -> None:
        self.checkpoint = self.log.recovery_point

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        """Not into a transaction: what is known of it then depends on restarts."""
        offset = int(self.start + share * (self.log.high_watermark - self.start))
        ended, still_open = self.transactions()
        if any(first < offset for first in still_open.values()) or any(
            each.first_offset < offset <= each.last_offset for each in ended
        ):
            return
        if self.log.increment_log_start(offset):
            self.start = offset

    @rule()
    def retain(self) -> None:
        for segment in delete_old_segments(self.log, NOW):
            segment.delete_files()
        self.start = self.log.log_start_offset

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        bases = [each.header.base_offset for each in self.batches]
        offset = max([self.start, *bases[int(share * len(bases)) :][:1]])
        self.log.truncation.truncate_to(offset, NOW, self.write_checkpoint)
        if offset < self.end:
            self.end = offset
            self._keep(lambda batch: batch.header.next_offset <= offset)
        sync(self.log)  # before that, a power cut undoes it

    def _keep(self, is_kept: Any) -> None:
        self.batches = [each for each in self.batches if is_kept(each)]
        self.damaged &= {each.header.base_offset for each in self.batches}

    # Restarts

    @rule(is_clean=st.booleans(), is_power_cut=st.booleans())
    def restart(self, is_clean: bool, is_power_cut: bool) -> None:
        if is_clean:
            assert self.log.close()
            self.checkpoint = self.log.recovery_point
        self._reopen(is_clean, is_power_cut)

    def _reopen(self, is_clean: bool, is_power_cut: bool) -> None:
        durable = self.end if is_clean or not is_power_cut else self.log.recovery_point
        if is_power_cut:
            files_of(self.log).power_cut()
        self.log = reopened(
            self.log,
            was_clean=is_clean,
            recovery_point=self.checkpoint,
            log_start_offset=self.start,
        )
        assert durable <= self.log.log_end_offset <= self.end
        self.end = self.log.log_end_offset
        found = self.found()
        self._keep(
            lambda batch: (
                batch.header.next_offset <= durable or batch.header.base_offset in found
            )
        )

    @rule(
        data=st.data(),
        is_clean=st.booleans(),
        bit=st.integers(0, 7),
        share=st.floats(0, 1, exclude_max=True),
    )
    def damage(self, data: Any, is_clean: bool, bit: int, share: float) -> None:
        """A bit of a batch flips in a sealed segment that is durable."""
        candidates = self._candidates()
        if not candidates:
            return
        batch = data.draw(st.sampled_from(candidates))
        base_offset = batch.header.base_offset
        segment = self.log.local.segments.floor(base_offset)
        assert segment is not None
        found = segment.reader.find(base_offset)
        assert found is not None
        if is_clean:
            assert self.log.close()
            self.checkpoint = self.log.recovery_point
        at = int(share * len(batch.data))
        files_of(self.log).flip(segment.log.path, found[0] + at, bit)
        if at not in LEADER_EPOCH:
            self.damaged.add(base_offset)
        self._reopen(is_clean, is_power_cut=False)
        if at in BASE_OFFSET and base_offset in self.found():
            self.damaged.remove(base_offset)  # its neighbours know better

    def _candidates(self) -> list[Batch]:
        """Transactions are left whole; `test_transactions_damage` is about those."""
        sealed_end = min(self.log.local.active.base_offset, self.log.recovery_point)
        return [
            each
            for each in self.batches
            if self.start <= each.header.base_offset
            and each.header.next_offset <= sealed_end
            and not each.header.is_transactional
            and each.header.base_offset not in self.damaged
        ]

    # Readers

    def transactions(self) -> tuple[list[Ended], dict[int, int]]:
        """Those that have ended, and the first offsets of those that are open."""
        ended: list[Ended] = []
        still_open: dict[int, int] = {}
        for header, data in self.batches:
            producer_id = header.producer_id
            if header.is_control:
                marker = read_marker(data)
                assert marker is not None
                first = still_open.pop(producer_id, None)
                if first is not None:
                    last = header.last_offset
                    ended.append(Ended(producer_id, first, last, not marker.is_commit))
            elif header.is_transactional:
                still_open.setdefault(producer_id, header.base_offset)
        return ended, still_open

    def sound(self, start: int, end: int) -> list[Batch]:
        """The batches that a reader gets between two offsets."""
        return [
            each
            for each in self.batches
            if each.header.next_offset > start
            and each.header.base_offset < end
            and each.header.base_offset not in self.damaged
        ]

    @rule(
        share=st.floats(0, 1),
        size_max=st.integers(0, 1200),
        isolation=st.sampled_from(FetchIsolation),
    )
    def read(self, share: float, size_max: int, isolation: FetchIsolation) -> None:
        offset = self.start + int(share * (self.end - self.start))
        limit = self.log.visibility.end_offset(isolation).offset
        data = self.log.read(offset, size_max, isolation, may_block=True)
        found = [
            (header, bytes(data.records[at : at + header.size]))
            for at, header in scan(data.records)
        ]
        if offset >= limit:
            assert not found
            return
        next_offset = found[-1][0].next_offset if found else offset
        assert next_offset <= limit
        whole = [each for each in found if each[0].records_count]
        assert [without_epoch(each[1]) for each in whole] == [
            without_epoch(each.data) for each in self.sound(offset, next_offset)
        ]
        assert found or not self.sound(offset, limit)
        assert len(data.records) <= max(size_max, found[0][0].size if found else 0)

    @rule()
    def read_outside(self) -> None:
        for offset in {self.start - 1, self.end + 1}:
            with pytest.raises(OffsetOutOfRange):
                self.log.read(offset, 100, FetchIsolation.LOG_END, may_block=True)

    def found(self) -> dict[int, bytes]:
        """All batches with records, by base offset; the leader epoch left out."""
        found: dict[int, bytes] = {}
        offset = self.start
        while True:
            data = self.log.read(
                offset, 1 << 20, FetchIsolation.LOG_END, may_block=True
            ).records
            if not len(data):
                return found
            for at, header in scan(data):
                if header.records_count:
                    found[header.base_offset] = bytes(data[at : at + header.size])
                offset = header.next_offset

    @invariant()
    def it_holds_what_the_list_holds(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        assert self.start <= log.high_watermark <= self.end
        found = self.found()
        expected = self.sound(self.start, self.end)
        assert list(found) == [each.header.base_offset for each in expected]
        for header, data in expected:
            assert without_epoch(found[header.base_offset]) == without_epoch(data)

    @invariant()
    def committed_readers_see_what_was_committed(self) -> None:
        ended, still_open = self.transactions()
        high = self.log.high_watermark
        undecided = [each.first_offset for each in ended if each.last_offset >= high]
        unstable = min([*still_open.values(), *undecided, high])
        stable = self.log.last_stable_offset
        assert stable == max(unstable, self.start)
        offset, kept = self.start, []
        while True:
            data = self.log.read(
                offset, 700, FetchIsolation.TXN_COMMITTED, may_block=True
            )
            batches = [
                (header, bytes(data.records[at : at + header.size]))
                for at, header in scan(data.records)
            ]
            if not batches:
                break
            assert data.aborted is not None
            kept += consume(batches, data.aborted)
            offset = batches[-1][0].next_offset
        aborted = [each for each in ended if each.is_aborted]
        expected = [
            batch.header.base_offset
            for batch in self.sound(self.start, stable)
            if not batch.header.is_control and not _is_aborted(batch, aborted)
        ]
        quarantined = {each.base_offset for each in self.log.quarantine}
        assert [each for each in kept if each not in quarantined] == expected


def _is_aborted(batch: Batch, aborted: list[Ended]) -> bool:
    return any(
        each.producer_id == batch.header.producer_id
        and each.first_offset <= batch.header.base_offset < each.last_offset
        for each in aborted
    )


TestLogModel = LogAgainstList.TestCase
TestLogModel.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
