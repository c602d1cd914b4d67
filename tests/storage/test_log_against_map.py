"""Whatever is done to a log, it holds what a plain map of offsets would hold.

Appends, rolls, syncs that overlap with appends, retention, truncation, clean stops,
kills and power cuts come in any order. What was durable is never lost, what is there
is in order, producers keep their sequence, and offsets are never given twice.
"""

from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.storage.log.retention import delete_old_segments
from tests.fakes.files import FakeFiles
from tests.storage.logs import NOW, Producer, new_log, produce, read_all, reopened, sync

if TYPE_CHECKING:
    from odradek.storage.local.sync_ticket import SyncTicket


class LogAgainstMap(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.log = new_log(segment_bytes=600, index_interval_bytes=100)
        # Something durable, so that there is a directory whatever happens.
        self.values: dict[int, bytes | None] = {0: b"first"}
        self.end = 1
        produce(self.log, value=b"first")
        sync(self.log)
        self.ticket: SyncTicket | None = None
        self.sequence = 0
        # Of each batch: base offset, next offset, next sequence.
        self.batches = [(0, 1, 0)]
        self.start = 0
        self.checkpoint = 0

    @property
    def files(self) -> FakeFiles:
        files = self.log.local.files
        assert isinstance(files, FakeFiles)
        return files

    @rule(count=st.integers(1, 4), value=st.binary(max_size=60))
    def append(self, count: int, value: bytes) -> None:
        producer = Producer(7, 0, self.sequence)
        info = produce(self.log, count, producer=producer, value=value)
        assert info.base_offset == self.end
        self.sequence += count
        self.end += count
        self.batches.append((info.base_offset, self.end, self.sequence))
        self.values |= {offset: value for offset in range(info.base_offset, self.end)}
        again = produce(self.log, count, producer=producer, value=value)
        assert again.is_duplicate
        assert again.base_offset == info.base_offset

    @rule()
    @precondition(lambda self: self.log.local.active.size)
    def roll(self) -> None:
        self.log.roll(NOW)

    @rule(with_snapshot=st.booleans())
    @precondition(lambda self: self.ticket is None)
    def begin_sync(self, with_snapshot: bool) -> None:
        self.ticket = self.log.syncing.begin(with_snapshot)

    @rule()
    @precondition(lambda self: self.ticket is not None)
    def finish_sync(self) -> None:
        assert self.ticket is not None
        self.ticket.run()
        self.log.syncing.finish(self.ticket)
        self.log.visibility.raise_to(self.log.recovery_point)
        self.ticket = None

    @rule()
    def write_checkpoint(self) -> None:
        self.checkpoint = self.log.recovery_point

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        offset = int(share * self.log.high_watermark)
        if self.log.increment_log_start(offset):
            self.start = offset
            for gone in [each for each in self.values if each < offset]:
                del self.values[gone]
        for segment in delete_old_segments(self.log, NOW):
            segment.delete_files()
        # A segment that truncation has left empty is old at once.
        assert min(self.values, default=self.end) >= self.log.log_start_offset
        self.start = self.log.log_start_offset

    @rule(share=st.floats(0, 1), is_fully=st.booleans())
    def truncate(self, share: float, is_fully: bool) -> None:
        end = self.start + int(share * (self.end - self.start))
        if is_fully:
            end += 3
            self.log.truncation.truncate_fully_and_start_at(
                end, NOW, checkpoint=self.follow
            )
            self.start = end
            self.batches.clear()
        else:
            self.log.truncation.truncate_to(end, NOW, self.follow)
        cut = end
        while self.batches and self.batches[-1][1] > end:
            cut = self.batches.pop()[0]  # as a whole
        kept = () if is_fully else self.values
        self.values = {each: self.values[each] for each in kept if each < cut}
        self.end = end
        state = self.log.producers.get(7)
        self.sequence = 0 if state is None else state.last_sequence + 1
        if self.batches and self.batches[-1][0] >= self.start:
            assert self.sequence == self.batches[-1][2]
        if self.ticket is not None:
            self.finish_sync()
        self.log.flush()

    def follow(self) -> None:
        self.checkpoint = min(self.checkpoint, self.log.recovery_point)
        self.start = min(self.start, self.log.log_start_offset)

    @rule(share=st.floats(0, 1))
    @precondition(lambda self: self.ticket is None)
    def stop(self, share: float) -> None:
        assert self.log.close()
        self.checkpoint = self.log.recovery_point
        self.files.power_cut()
        self.log = reopened(
            self.log,
            was_clean=True,
            recovery_point=self.checkpoint,
            log_start_offset=self.start,
        )
        assert self.read_first(share) == self.values

    @rule(is_power_cut=st.booleans(), share=st.floats(0, 1))
    def crash(self, is_power_cut: bool, share: float) -> None:
        durable = self.log.recovery_point
        if is_power_cut:
            self.files.power_cut()
        self.ticket = None
        self.log = reopened(
            self.log, recovery_point=self.checkpoint, log_start_offset=self.start
        )
        end = self.log.log_end_offset
        found = self.read_first(share)
        # Truncation inside of a batch leaves offsets that hold nothing. A sync passes
        # them, but no byte says so: of what was durable the end of the last batch is
        # certain, and what was written down. Until then they are given again, which
        # harms nobody: who was told of them was told of what truncation took.
        ends = [each[1] for each in self.batches if each[1] <= durable]
        assert self.checkpoint <= end
        assert max(ends, default=durable) <= end <= self.end or not found
        kept = self.end if not is_power_cut else durable
        assert [each for each in found if each < kept] == [
            each for each in self.values if each < kept
        ]
        # What was not durable may be gone, in the middle too: a segment that was
        # begun behind it has its name on the disk. Nothing is there but what was.
        assert found.items() <= self.values.items()
        self.values, self.end = found, end
        self.batches = [each for each in self.batches if each[1] <= end]
        state = self.log.producers.get(7)
        self.sequence = 0 if state is None else state.last_sequence + 1

    @invariant()
    def it_holds_what_it_should(self) -> None:
        log = self.log
        assert log.log_end_offset == self.end
        assert log.log_start_offset == self.start
        assert log.recovery_point <= log.log_end_offset
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert self.records() == self.values

    def read_first(self, share: float) -> dict[int, bytes | None]:
        """All records, after a reader that begins anywhere.

        What comes before, it does not read: that is verified because it leads there.
        """
        log = self.log
        start = log.log_start_offset
        start += int(share * (log.log_end_offset - start))
        from_there, found = self.records(start), self.records()
        assert from_there == {each: found[each] for each in found if each >= start}
        return found

    def records(self, start: int | None = None) -> dict[int, bytes | None]:
        records = read_all(self.log, start=start)
        offsets = [record.offset for record in records]
        assert offsets == sorted(set(offsets))
        return {record.offset: record.value for record in records}


TestLogAgainstMap = LogAgainstMap.TestCase
TestLogAgainstMap.settings = settings(max_examples=60, stateful_step_count=40)


def test_offsets_cut_out_of_a_batch_may_be_given_again() -> None:
    """The recovery point is 4 then, and the log that is found ends at 1."""
    machine = LogAgainstMap()
    machine.append(4, b"")  # 1 to 4
    machine.truncate(0.8, is_fully=False)  # 4 goes, and so does the batch
    assert (machine.log.recovery_point, machine.end) == (4, 4)
    machine.append(1, b"")
    machine.it_holds_what_it_should()
    machine.crash(is_power_cut=True, share=0)
    assert machine.records() == {0: b"first"}
    machine.it_holds_what_it_should()
    machine.append(1, b"again")
    assert machine.log.log_end_offset == 2


def test_offsets_cut_out_of_a_batch_stay_empty_once_checkpointed() -> None:
    machine = LogAgainstMap()
    machine.append(4, b"")
    machine.truncate(0.8, is_fully=False)
    machine.write_checkpoint()
    machine.append(1, b"")
    machine.crash(is_power_cut=True, share=0)
    machine.it_holds_what_it_should()
    assert (machine.records(), machine.end) == ({0: b"first"}, 4)


def test_a_recovered_batch_is_read_when_what_leads_to_it_was_not() -> None:
    """Recovery reads from the recovery point on, a reader from the entry before."""
    machine = LogAgainstMap()
    machine.append(1, b"")
    machine.append(2, b"")
    machine.stop(0)
    machine.crash(is_power_cut=False, share=0.5)
    assert list(machine.records()) == [0, 1, 2, 3]


def test_truncation_among_offsets_that_hold_nothing_is_checkpointed() -> None:
    machine = LogAgainstMap()
    machine.append(3, b"")
    machine.stop(0)
    machine.truncate(0.5, is_fully=False)
    machine.truncate(0.5, is_fully=False)
    assert machine.checkpoint == 1
    machine.crash(is_power_cut=False, share=0)
    machine.it_holds_what_it_should()


def test_a_snapshot_that_is_due_goes_with_the_log_that_it_is_of() -> None:
    """Its offset may be where the log begins anew."""
    log = LogAgainstMap()
    log.append(count=2, value=b"")
    log.crash(is_power_cut=False, share=0.0)
    log.roll()
    log.truncate(is_fully=True, share=0.0)
    log.stop(share=0.0)
    log.append(count=2, value=b"")
    log.it_holds_what_it_should()
