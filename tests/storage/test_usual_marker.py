"""Two logs whose transactions end alike, in one by the short way of markers."""

import errno
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import KafkaError
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.marker import BuiltMarker
from tests.fakes.files import FakeFiles
from tests.storage.logs import EPOCH, NOW, Producer, new_log, produce
from tests.storage.test_usual_append import OPTIONS, all_of

MARKERS = st.builds(
    BuiltMarker,
    producer_id=st.sampled_from([7, 7, 7, 8, 9]),
    producer_epoch=st.sampled_from([0, 0, 0, 1, 2]),
    is_commit=st.sampled_from([True, True, True, False]),
    coordinator_epoch=st.sampled_from([3, 3, 3, 2]),
    transaction_version=st.sampled_from([0, 0, 2]),
)
# Of whom a record is, which epoch it has, and whether it is part of a transaction.
RECORDS = st.tuples(
    st.sampled_from([7, 7, 8]),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([True, True, True, False]),
)


class Ending:
    """A log, and how often its markers took the short way."""

    def __init__(self, *, is_short: bool, **options: Any) -> None:
        self.files = FakeFiles()
        self.log = new_log(self.files, **{"index_interval_bytes": 300, **options})
        self.short_count = 0
        self._is_short = is_short
        self._sequences: dict[tuple[int, int], int] = {}

    def write(self, producer_id: int, epoch: int, in_transaction: bool) -> Any:
        sequence = self._sequences.get((producer_id, epoch), 0)
        producer = Producer(producer_id, epoch, sequence)
        try:
            info = produce(self.log, producer=producer, is_transactional=in_transaction)
        except KafkaError as error:
            return type(error), str(error)
        self._sequences[producer_id, epoch] = sequence + 1
        return info

    def end(self, marker: BuiltMarker, leader_epoch: int = EPOCH) -> Any:
        """Where the marker is, or what was said against it."""
        batch = batch_of(marker)
        appender = self.log.appender
        try:
            if self._is_short and (
                placed := appender.append_usual_marker(batch, marker, leader_epoch, NOW)
            ):
                self.short_count += 1
                return placed
            info = appender.append_as_leader(
                batch,
                leader_epoch,
                NOW,
                AppendOrigin.COORDINATOR,
                transaction_version=marker.transaction_version,
            )
        except KafkaError as error:
            return type(error), str(error)
        return info.base_offset, info.last_offset + 1, info.log_start_offset


def batch_of(marker: BuiltMarker) -> memoryview:
    kind = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    what = EndTxnMarker(kind, marker.coordinator_epoch)
    batch = build_marker_batch(what, marker.producer_id, marker.producer_epoch, NOW)
    return memoryview(batch)


def state_of(log: UnifiedLog, files: FakeFiles) -> Any:
    producers = log.producers
    return (
        all_of(log, files),
        producers.first_unstable_offset,
        [each.producer_id for each in producers.with_transactions()],
    )


@settings(max_examples=40)
@given(
    st.lists(RECORDS | MARKERS, max_size=30),
    OPTIONS,
    st.sampled_from([EPOCH] * 3 + [EPOCH + 1]),
    st.booleans(),
)
def test_the_short_way_does_what_the_long_one_does(
    steps: list[Any], options: dict[str, Any], leader_epoch: int, follows: bool
) -> None:
    short, long = (Ending(is_short=each, **options) for each in (True, False))
    for step in steps:
        for each in short, long:
            if follows:
                each.log.visibility.raise_to_end()
        if isinstance(step, BuiltMarker):
            assert short.end(step, leader_epoch) == long.end(step, leader_epoch)
        else:
            assert short.write(*step) == long.write(*step)
        assert state_of(short.log, short.files) == state_of(long.log, long.files)


def committed(epoch: int = 0, version: int = 0) -> BuiltMarker:
    return BuiltMarker(7, epoch, True, 3, version)


@pytest.mark.parametrize("version", [0, 2])
def test_a_commit_takes_the_short_way(version: int) -> None:
    ending = Ending(is_short=True)
    for count in range(1, 4):
        epoch = count if version else 0
        ending.write(7, epoch, True)
        ending.end(committed(epoch + 1 if version else 0, version))
        assert ending.short_count == count
        assert ending.log.producers.with_transactions() == []


def test_nothing_else_does() -> None:
    ending = Ending(is_short=True)
    ending.end(committed())  # it has no transaction
    ending.write(7, 0, True)
    ending.end(committed()._replace(is_commit=False))
    ending.write(7, 0, True)
    ending.end(committed(version=2))  # a late one, of the transaction before
    ending.end(committed()._replace(coordinator_epoch=2))
    ending.end(committed(), EPOCH + 1)  # it begins a leader epoch
    assert ending.short_count == 0


def test_a_guard_that_is_given_out_is_taken_back_the_long_way() -> None:
    ending = Ending(is_short=True)
    ending.write(7, 0, True)
    ending.log.producers.start_verification(8, 0, 0, NOW)
    ending.end(committed())
    assert ending.short_count == 0


def test_a_marker_that_could_not_be_written_has_ended_nothing() -> None:
    ending = Ending(is_short=True)
    ending.write(7, 0, True)
    ending.files.fail("append", error=errno.ENOSPC)
    assert ending.end(committed())[0] is DiskFull
    assert len(ending.log.producers.with_transactions()) == 1
    assert ending.end(committed())[:2] == (1, 2)
    ending.write(7, 0, True)
    ending.files.fail("append", error=errno.EIO)
    assert ending.end(committed())[0] is StorageFailure
    assert ending.log.is_failed
