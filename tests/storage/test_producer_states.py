"""The producers of a partition and their transactions, batch by batch."""

from pathlib import Path

from protocol.control_records import ControlType, EndTxnMarker, build_marker_batch
from protocol.record_batch import read_header
from protocol.records import NewRecord, build_batch
from storage.append_info import AppendOrigin
from storage.producer_snapshot import snapshot_path
from storage.producer_states import (
    CompletedTransaction,
    ProducerStates,
    load_newest_snapshot,
)
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/t-0")
DAY_MS = 86_400_000


def write(
    states: ProducerStates,
    offset: int,
    producer_id: int = 7,
    sequence: int = 0,
    *,
    epoch: int = 0,
    is_transactional: bool = False,
    timestamp: int = 1000,
) -> None:
    batch = build_batch(
        [NewRecord(value=b"v")],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    assert states.add(read_header(batch), batch, offset, timestamp) is None


def end(
    states: ProducerStates, offset: int, producer_id: int = 7, *, is_abort: bool = False
) -> CompletedTransaction | None:
    kind = ControlType.ABORT if is_abort else ControlType.COMMIT
    batch = build_marker_batch(EndTxnMarker(kind, 3), producer_id, 0, 2000)
    completed = states.add(read_header(batch), batch, offset, 2000)
    if completed is not None:
        states.complete(completed)
    return completed


def test_a_producer_is_known_by_its_first_batch() -> None:
    states = ProducerStates(DAY_MS)
    assert states.get(7) is None
    write(states, 10)
    state = states.get(7)
    assert state is not None
    assert (len(states), state.last_offset, state.last_timestamp) == (1, 10, 1000)


def test_a_duplicate_is_found_among_the_batches() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10)
    batch = build_batch(
        [NewRecord(value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0
    )
    duplicate = states.check(read_header(batch), batch, AppendOrigin.CLIENT)
    assert duplicate is not None
    assert duplicate.base_offset == 10


def test_the_first_open_transaction_bounds_what_is_stable() -> None:
    states = ProducerStates(DAY_MS)
    assert states.first_unstable_offset == -1
    write(states, 10, 7, is_transactional=True)
    write(states, 11, 8, is_transactional=True)
    write(states, 12, 7, 1, is_transactional=True)
    assert states.first_unstable_offset == 10
    completed = end(states, 13, 7, is_abort=True)
    assert completed == CompletedTransaction(7, 10, 13, is_aborted=True)
    assert states.first_unstable_offset == 10, "until the marker is replicated"
    states.on_high_watermark(13)
    assert states.first_unstable_offset == 10
    states.on_high_watermark(14)
    assert states.first_unstable_offset == 11
    assert end(states, 14, 8) == CompletedTransaction(8, 11, 14, is_aborted=False)
    states.on_high_watermark(15)
    assert states.first_unstable_offset == -1


def test_the_stable_offset_of_a_transaction_is_that_of_the_others() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, 7, is_transactional=True)
    write(states, 11, 8, is_transactional=True)
    assert states.last_stable_offset(CompletedTransaction(7, 10, 12, True)) == 11
    end(states, 12, 8)
    assert states.last_stable_offset(CompletedTransaction(7, 10, 13, True)) == 14


def test_t096_a_marker_without_a_transaction_completes_none() -> None:
    states = ProducerStates(DAY_MS)
    assert end(states, 10) is None
    state = states.get(7)
    assert state is not None
    assert (state.coordinator_epoch, state.last_timestamp) == (3, 2000)


def test_t084_an_older_coordinator_epoch_is_accepted_on_load() -> None:
    states = ProducerStates(DAY_MS)
    for coordinator_epoch in (5, 2):
        marker = EndTxnMarker(ControlType.COMMIT, coordinator_epoch)
        batch = build_marker_batch(marker, 7, 0, 2000)
        states.add(read_header(batch), batch, 10, 2000)
    state = states.get(7)
    assert state is not None
    assert state.coordinator_epoch == 2


def test_gaps_and_older_epochs_are_accepted_on_load() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, sequence=5, epoch=3)
    write(states, 20, sequence=50, epoch=3)
    write(states, 30, sequence=0, epoch=1)
    state = states.get(7)
    assert state is not None
    assert (state.producer_epoch, state.last_sequence) == (1, 0)


def test_silent_producers_are_forgotten_except_in_a_transaction() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, 7)
    write(states, 11, 8, timestamp=5000)
    write(states, 12, 9, is_transactional=True)
    assert states.remove_expired(1000 + DAY_MS) == 1
    assert [state.producer_id for state in states] == [8, 9]


def test_what_lies_below_the_log_start_holds_nothing_back() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    end(states, 11)
    states.on_log_start_offset(12)
    assert states.first_unstable_offset == -1
    assert states.map_end_offset == 12
    assert len(states) == 1


def snapshots(*offsets: int) -> tuple[FakeFiles, ProducerStates]:
    """Snapshots of a producer that had an open transaction from offset 1 on."""
    files, states = FakeFiles(), ProducerStates(DAY_MS)
    write(states, 1, is_transactional=True)
    write(states, 2, 8)
    for offset in offsets:
        files.put(snapshot_path(DIRECTORY, offset), states.encode())
    return files, ProducerStates(DAY_MS)


def test_the_newest_snapshot_below_the_limit_is_loaded() -> None:
    files, states = snapshots(5, 10, 20)
    assert load_newest_snapshot(files, DIRECTORY, states, 19, now_ms=2000)
    assert states.map_end_offset == 10
    assert [state.producer_id for state in states] == [7, 8]
    assert states.first_unstable_offset == 1


def test_t094_a_damaged_one_is_removed_and_the_one_before_taken() -> None:
    files, states = snapshots(5, 10)
    files.flip(snapshot_path(DIRECTORY, 10), 30)
    assert load_newest_snapshot(files, DIRECTORY, states, 10, now_ms=2000)
    assert states.map_end_offset == 5
    assert not files.exists(snapshot_path(DIRECTORY, 10))


def test_without_one_nothing_is_known() -> None:
    files, states = snapshots(10)
    write(states, 3)
    assert not load_newest_snapshot(files, DIRECTORY, states, 9, now_ms=2000)
    assert (len(states), states.map_end_offset) == (0, 0)


def test_expired_producers_are_not_loaded() -> None:
    files, states = snapshots(10)
    load_newest_snapshot(files, DIRECTORY, states, 10, now_ms=1000 + DAY_MS)
    assert [state.producer_id for state in states] == [7], "its transaction is open"
