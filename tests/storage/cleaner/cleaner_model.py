"""A compacted log, and beside it all that was ever written to it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import dataclass, field
from random import Random

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.records import NewRecord, Record, build_batch, iterate
from odradek.storage.cleaner.choice import (
    find_cleanable,
    first_dirty_offset,
    plan_round,
)
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.cleaner.unfinished import remove_unfinished
from odradek.storage.files.files import DiskFull
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.log.retention import delete_old_segments
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import RETENTION_MS, compacted_log, take_in
from tests.storage.cleaner.consuming import batches_from, consume
from tests.storage.cleaner.written import Producer, Written
from tests.storage.logs import NOW, append, reopened, sync

KEYS = [b"key %d" % number for number in range(12)]
IDEMPOTENT, TRANSACTIONAL = (10, 11), (0, 1, 2)
COMMITTED, UNCOMMITTED = FetchIsolation.TXN_COMMITTED, FetchIsolation.HIGH_WATERMARK


@dataclass
class Model:
    """``step`` does something, ``check`` compares."""

    chance: Random
    files: FakeFiles = field(default_factory=FakeFiles)
    written: dict[int, Written] = field(default_factory=dict)
    producers: dict[int, Producer] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)  # numbers of transactions
    spans: list[tuple[int, int]] = field(default_factory=list)  # of those that ended
    round_times: list[int] = field(default_factory=list)
    now_ms: int = NOW
    start: int = 0
    end: int = 0
    checkpoint: int = 0
    touched_end: int = 0
    """Below it records may be gone for others that lie below it, too."""
    transaction_count: int = 0
    removed: list[LogSegment] = field(default_factory=list)  # their files are there

    def __post_init__(self) -> None:
        chance = self.chance
        self.log = compacted_log(
            self.files,
            segment_bytes=chance.choice([700, 1200, 4000]),
            index_interval_bytes=chance.choice([1, 100, 4096]),
            segment_index_bytes=chance.choice([40, 1000]),
            file_delete_delay_ms=0,
        )
        self.map_size = chance.choice([0, 100, 200, 1 << 20])
        self.settle()

    def on(self, files: FakeFiles) -> "Model":
        """The same with a copy of the files, on which the log is opened."""
        other = copy(self)
        other.files = files
        other.round_times, other.spans = list(self.round_times), list(self.spans)
        other.written, other.aborted = dict(self.written), set(self.aborted)
        other.producers = deepcopy(self.producers)
        other.chance = Random(len(self.written))
        log = copy(self.log)
        log.local = copy(self.log.local)
        log.local.files = files
        other.log = log
        other.reopen()
        return other

    # What happens to the log

    def step(self) -> None:
        """Do one thing, then see that all is right."""
        actions: list[tuple[Callable[[], object], int]] = [
            (self.append, 40),
            (self.append_in_transaction, 25),
            (self.end_transaction, 20),
            (self.roll, 12),
            (self.round, 16),
            (self.settle, 8),
            (self.wait, 8),
            (self.restart, 4),
            (self.crash_somewhere, 6),
            (self.meet_full_disk, 3),
            (self.delete_records, 3),
        ]
        doing, weights = zip(*actions, strict=True)
        (do,) = self.chance.choices(doing, weights)
        do()
        if do not in (self.append, self.append_in_transaction):
            self.check()

    def append(self) -> None:
        """Of nobody in particular, or of an idempotent producer."""
        producer_id = self.chance.choice([-1, *IDEMPOTENT])
        self._append(producer_id, is_transactional=False)

    def append_in_transaction(self) -> None:
        producer_id = self.chance.choice(TRANSACTIONAL)
        producer = self.producers.setdefault(producer_id, Producer())
        if not producer.transaction:
            self.transaction_count += 1
            producer.transaction = self.transaction_count
            producer.first_offset = self.end
        self._append(producer_id, is_transactional=True)

    def _append(self, producer_id: int, *, is_transactional: bool) -> None:
        chance, producer = self.chance, Producer(-1, -1)
        if producer_id >= 0:
            producer = self.producers.setdefault(producer_id, Producer())
        records = [
            NewRecord(
                chance.choice(KEYS),
                None if chance.random() < 0.2 else chance.randbytes(20) * 2,
                NOW + chance.randrange(1000),
            )
            for _ in range(chance.choice([1, 1, 2, 3, 8]))
        ]
        batch = build_batch(
            records,
            compression=chance.choice([0, 0, 0, 1, 2, 3, 4]),
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            base_sequence=producer.next_sequence,
            is_transactional=is_transactional,
        )
        as_sent = bytes(batch)
        info = append(self.log, batch, now_ms=self.now_ms)
        assert info.base_offset == self.end
        for offset, record in enumerate(records, self.end):
            assert isinstance(record.key, bytes)
            assert record.value is None or isinstance(record.value, bytes)
            self.written[offset] = Written(
                record.key,
                record.value,
                record.timestamp,
                producer.transaction,
                self.now_ms,
            )
        self.end += len(records)
        if producer_id >= 0:
            producer.next_sequence += len(records)
            producer.last_batch, producer.base_offset = as_sent, info.base_offset

    def end_transaction(self) -> None:
        """Commit or abort one that is open, or mark one without records."""
        producer_id = self.chance.choice(TRANSACTIONAL)
        producer = self.producers.get(producer_id)
        if producer is None:
            return
        commits = self.chance.random() < 0.6
        if self.chance.random() < 0.3:  # as the second version of the protocol does
            producer.epoch += 1
            producer.next_sequence, producer.last_batch = 0, b""
        kind = ControlType.COMMIT if commits else ControlType.ABORT
        batch = build_marker_batch(
            EndTxnMarker(kind, 0), producer_id, producer.epoch, self.now_ms
        )
        append(self.log, batch, AppendOrigin.COORDINATOR, now_ms=self.now_ms)
        if producer.transaction:
            self.spans.append((producer.first_offset, self.end))
            if not commits:
                self.aborted.add(producer.transaction)
            producer.transaction = 0
        self.end += 1

    def roll(self) -> None:
        if self.log.local.active.size:
            self.log.roll(self.now_ms)

    def settle(self) -> None:
        """Everything is durable and may be read."""
        sync(self.log, with_snapshot=self.chance.random() < 0.5)
        self.files.sync_directory(self.log.directory)

    def wait(self) -> None:
        while self.removed:
            self.removed.pop().delete_files()
        self.now_ms += self.chance.choice([1, RETENTION_MS // 2, RETENTION_MS])

    def delete_records(self) -> None:
        """Not into a transaction: what is known of it then depends on restarts."""
        chance = self.chance
        offset = chance.randint(self.start, self.log.high_watermark)
        if chance.random() < 0.5:
            offset = min(offset, self.start + 5)
        spans = self.spans + [
            (each.first_offset, self.end)
            for each in self.producers.values()
            if each.transaction
        ]
        if any(first < offset <= last for first, last in spans):
            return
        self.log.increment_log_start(offset, LogStartReason.CLIENT_RECORD_DELETION)
        for segment in delete_old_segments(self.log, self.now_ms):
            segment.delete_files()
        self.start = self.log.log_start_offset

    # Rounds

    def round(self) -> None:
        """One that comes to its end, unless what it reads is deleted meanwhile."""
        if self.clean(self.meanwhile):
            self._check_cleaned()

    def meanwhile(self) -> None:
        """What may happen between two steps of a round."""
        doing = [self.append, self.append_in_transaction, self.end_transaction]
        self.chance.choice([*doing, self.roll, self.settle, self.delete_records])()

    def clean(self, meanwhile: Callable[[], object] = lambda: None) -> bool:
        """Whether it has come to its end."""
        log = self.log
        first_dirty = first_dirty_offset(log, self.checkpoint)
        cleanable = find_cleanable(log, first_dirty, self.now_ms)
        self.round_times += [self.now_ms]
        plan = plan_round(log, cleanable, self.now_ms, self.map_size)
        touched_end = self.touched_end
        self.touched_end = max(plan.end_offset, touched_end, self.start)
        cleaning = CleaningRound(log.local.files, plan)
        sources = {each.base_offset for each in plan.segments}
        is_wanted = lambda: all(map(log.local.segments.get, sources))  # noqa: E731
        while (cleaned := cleaning.clean_next()) is not None:
            old = take_in(log, cleaned, self.now_ms, meanwhile, is_wanted)
            self.removed += old
            sources -= {each.base_offset for each in old}
            if not is_wanted():
                remove_unfinished(self.files, plan)
                return False
        assert cleaning.next_dirty_offset >= first_dirty
        self.checkpoint = cleaning.next_dirty_offset
        self.touched_end = max(self.checkpoint, touched_end)
        return True

    def crash_somewhere(self) -> None:
        self.settle()
        nth = self.chance.randint(1, 120)
        self.crash(nth, loses_power=self.chance.random() < 0.5)

    def crash(self, nth: int, *, loses_power: bool) -> bool:
        """The ``nth`` call of a round is the last. Whether it was over by then."""
        files, before = self.files, self.checkpoint
        for call in range(nth, nth + 100):  # nothing works any more
            files.fail(nth=call)
        is_over = False
        with suppress(KafkaStorageError):
            self.clean()
            is_over = True
        files.heal()
        if loses_power:
            files.power_cut()
            self.checkpoint = before if self.chance.random() < 0.5 else self.checkpoint
        self.reopen()
        return is_over

    def meet_full_disk(self) -> None:
        """The round is given up, and the log goes on."""
        files = self.files
        files.fail("append", nth=self.chance.randint(1, 4), error=28)
        with suppress(DiskFull):
            self.clean()
        files.heal()

    def restart(self) -> None:
        """After a clean stop, or a kill."""
        self.reopen(was_clean=self.chance.random() < 0.5)

    def reopen(self, *, was_clean: bool = False) -> None:
        self.removed = []
        if was_clean:
            assert self.log.close()
        self.log = reopened(
            self.log,
            was_clean=was_clean,
            recovery_point=self.log.log_end_offset
            if was_clean
            else self.log.recovery_point,
            log_start_offset=self.start,
            now_ms=self.now_ms,
        )
        self._check_producers()

    def finish(self) -> None:
        """Everything is over and cleaned, as far as that goes."""
        for _ in range(6):
            self.now_ms += RETENTION_MS
            self.roll()
            self.settle()
            self.round()
            self.check()

    # What must hold

    def check(self) -> None:
        """Readers of both isolations get what they must, from wherever they begin."""
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        for isolation in (COMMITTED, UNCOMMITTED):
            found = list(self._read(self.start, isolation))
            self._check_read(found, isolation)
            end = log.visibility.end_offset(isolation)
            offset = self.chance.randint(self.start, end.offset)
            assert list(self._read(offset, isolation)) == [
                each for each in found if each.offset >= offset
            ]
        names = self.files.listdir(log.directory)
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        self._check_times()

    def _read(self, offset: int, isolation: FetchIsolation) -> Iterator[Record]:
        return consume(self.log, offset, isolation, self.chance)

    def _check_read(self, found: list[Record], isolation: FetchIsolation) -> None:
        end = self.log.visibility.end_offset(isolation).offset
        offsets = [each.offset for each in found]
        assert offsets == sorted(set(offsets))
        for each in found:
            was = self.written[each.offset]
            assert (each.key, each.value, each.timestamp) == was[:3]
            assert isolation is UNCOMMITTED or was.transaction not in self.aborted
        for offset, was in self._latest(end).items():
            if offset not in offsets:
                assert was.value is None, (offset, was)
                self._check_expired(was)
        for offset, was in self.written.items():
            if max(self.touched_end, self.start) <= offset < end:
                assert offset in offsets or was.transaction in self.aborted, offset

    def _latest(self, end: int) -> dict[int, Written]:
        """The last record of each key, of those that count for everybody."""
        latest: dict[bytes, int] = {}
        for offset, was in self.written.items():
            if self.start <= offset < end and was.transaction not in self.aborted:
                latest[was.key] = offset
        return {offset: self.written[offset] for offset in latest.values()}

    def _check_expired(self, was: Written) -> None:
        """A tombstone is gone: a round has kept it first, a later one was due."""
        rounds = [each for each in self.round_times if each >= was.written_ms]
        assert rounds
        assert rounds[-1] >= rounds[0] + RETENTION_MS

    def _check_cleaned(self) -> None:
        """What a round leaves below the offset where the next one begins."""
        keys = set()
        for header, batch in batches_from(self.log, self.start):
            if header.last_offset >= self.checkpoint or header.is_control:
                continue
            for record in iterate(batch):
                if record.offset < self.start:
                    continue
                was = self.written[record.offset]
                assert was.transaction not in self.aborted
                assert record.key not in keys, (record.offset, record.key)
                keys.add(record.key)
                if record.value is None:
                    assert header.delete_horizon_ms is not None
                    assert header.delete_horizon_ms > self.now_ms

    def _check_producers(self) -> None:
        for producer_id, producer in self.producers.items():
            known = self.log.producers.get(producer_id)
            if producer.base_offset < self.start:
                continue
            assert known is not None
            assert known.producer_epoch == producer.epoch
            if not producer.last_batch:
                continue
            assert known.last_sequence == producer.next_sequence - 1
            again = append(self.log, bytearray(producer.last_batch))
            assert again.is_duplicate
            assert again.base_offset == producer.base_offset

    def _check_times(self) -> None:
        timestamp = NOW + self.chance.randrange(1100)
        found = self.log.reading.find_offset(timestamp)
        later = (
            record.offset
            for _, batch in batches_from(self.log, self.start)
            for record in iterate(batch)
            if record.timestamp >= timestamp and record.offset >= self.start
        )
        assert (None if found is None else found.offset) == next(later, None)
