"""The producers of a partition and their transactions, batch by batch."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.checksum import crc32c
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import OutOfOrderSequenceNumber
from odradek.protocol.record_batch import pack_header, read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.producer_entry import ProducerEntry
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.snapshot import (
    decode_snapshot,
    snapshot_path,
)
from odradek.storage.producers.states import (
    CompletedTransaction,
    ProducerStates,
    load_newest_snapshot,
)
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/t-0")
DAY_MS = 86_400_000


def data_batch(
    producer_id: int,
    sequence: int,
    offset: int = 0,
    epoch: int = 0,
    is_transactional: bool = False,
) -> bytearray:
    return build_batch(
        [NewRecord(value=b"v", timestamp=1000)],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


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
    batch = data_batch(producer_id, sequence, 0, epoch, is_transactional)
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
    batch = data_batch(7, 0)
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


def test_a58_the_stable_offset_of_a_transaction_is_that_of_the_others() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, 7, is_transactional=True)
    write(states, 11, 8, is_transactional=True)
    assert states.last_stable_offset(CompletedTransaction(7, 10, 12, True)) == 11
    end(states, 12, 8)
    assert states.last_stable_offset(CompletedTransaction(7, 10, 13, True)) == 14


def test_t096_empty_txn_marker_does_not_move_lso_or_index() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 9, 8, is_transactional=True)
    assert end(states, 10, is_abort=True) is None
    assert states.first_unstable_offset == 9
    state = states.get(7)
    assert state is not None
    assert (state.coordinator_epoch, state.last_timestamp) == (3, 2000)


def test_t084_non_monotonic_coordinator_epoch_accepted_on_load() -> None:
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


def test_a145_silent_producers_are_forgotten_except_in_a_transaction() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, 7)
    write(states, 11, 8, timestamp=5000)
    write(states, 12, 9, is_transactional=True)
    assert not list(states.remove_expired(999 + DAY_MS))
    assert len(states) == 3
    assert not list(states.remove_expired(1000 + DAY_MS))
    assert {state.producer_id for state in states} == {8, 9}


def test_what_lies_below_the_log_start_holds_nothing_back() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    end(states, 11)
    states.on_log_start_offset(11)
    assert states.first_unstable_offset == 10, "the marker is not below"
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


def test_t094_corrupt_snapshot_falls_back_to_previous() -> None:
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
    load_newest_snapshot(files, DIRECTORY, states, 10, now_ms=1000 + DAY_MS - 1)
    assert len(states) == 2
    load_newest_snapshot(files, DIRECTORY, states, 10, now_ms=1000 + DAY_MS)
    assert [state.producer_id for state in states] == [7], "its transaction is open"


def test_t093_snapshot_keeps_only_last_batch() -> None:
    """After a restart the older duplicate is out of order, the last one is known."""
    states = ProducerStates(DAY_MS)
    for sequence in range(3):
        write(states, 10 + sequence, sequence=sequence)
    assert repeat(states, 0) == 10
    files = FakeFiles()
    files.put(snapshot_path(DIRECTORY, 13), states.encode())
    restarted = ProducerStates(DAY_MS)
    assert load_newest_snapshot(files, DIRECTORY, restarted, 13, now_ms=2000)
    for sequence in (0, 1):
        with pytest.raises(OutOfOrderSequenceNumber):
            repeat(restarted, sequence)
    assert repeat(restarted, 2) == 12
    assert repeat(restarted, 3) is None


def repeat(states: ProducerStates, sequence: int) -> int | None:
    """The offset that a batch sent again had been given; None for a new one."""
    batch = data_batch(7, sequence)
    duplicate = states.check(read_header(batch), batch, AppendOrigin.CLIENT)
    return None if duplicate is None else duplicate.base_offset


def test_t100_late_transaction_gauge_after_timeout_plus_5min() -> None:
    states, timeout_ms = ProducerStates(DAY_MS), 900_000
    late_ms = 1000 + timeout_ms + 300_000
    assert not states.has_late_transaction(10**15, timeout_ms)
    write(states, 10, 7)
    assert not states.has_late_transaction(10**15, timeout_ms), "no transaction"
    write(states, 11, 8, is_transactional=True)
    write(states, 12, 9, is_transactional=True, timestamp=10**14)
    assert not states.has_late_transaction(late_ms, timeout_ms)
    assert states.has_late_transaction(late_ms + 1, timeout_ms)
    write(states, 13, 8, 1, is_transactional=True, timestamp=2000)
    assert not states.has_late_transaction(late_ms + 1000, timeout_ms), "it goes on"
    assert states.has_late_transaction(late_ms + 1001, timeout_ms)
    end(states, 14, 8)
    assert not states.has_late_transaction(10**14, timeout_ms), "the other is younger"
    timeless = ProducerStates(DAY_MS)
    write(timeless, 10, is_transactional=True, timestamp=-1)
    assert not timeless.has_late_transaction(late_ms, timeout_ms), "it has no times"


def test_open_transactions_are_loaded_in_their_order() -> None:
    """In a snapshot of Kafka's the producers are in no order."""
    files, states = FakeFiles(), ProducerStates(DAY_MS)
    for producer_id, offset in ((7, 30), (8, 10), (9, 20)):
        write(states, offset, producer_id, is_transactional=True, timestamp=offset)
    files.put(snapshot_path(DIRECTORY, 31), states.encode())
    load_newest_snapshot(files, DIRECTORY, states, 31, now_ms=2000)
    assert states.first_unstable_offset == 10
    assert states.last_stable_offset(CompletedTransaction(8, 10, 31, True)) == 20
    assert states.has_late_transaction(300_012, 1)
    assert not states.has_late_transaction(300_011, 1)


def test_a_transaction_whose_marker_is_lost_is_ended_by_hand() -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    completed = states.end_transaction(7, 15)
    assert completed == CompletedTransaction(7, 10, 15, is_aborted=True)
    states.complete(completed)
    states.on_high_watermark(16)
    assert states.first_unstable_offset == -1
    assert states.end_transaction(7, 16) is None
    assert states.end_transaction(8, 16) is None


def test_a_marker_with_a_higher_epoch_leaves_no_batch_behind() -> None:
    """With transaction.version 2; Kafka's snapshots have such entries."""
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    marker = build_marker_batch(EndTxnMarker(ControlType.COMMIT, 3), 7, 1, 2000)
    completed = states.add(read_header(marker), marker, 11, 2000)
    assert completed == CompletedTransaction(7, 10, 11, is_aborted=False)
    assert decode_snapshot(states.encode()) == [
        ProducerEntry(7, 1, -1, -1, 0, 2000, 3, -1)
    ]


def test_replay_takes_what_was_not_applied() -> None:
    states = ProducerStates(DAY_MS)
    for offset, sequence in ((10, 0), (10, 0), (9, 7), (20, 3)):
        batch = data_batch(7, sequence, offset)
        assert states.replay(read_header(batch), batch) is None
    state = states.get(7)
    assert state is not None
    assert [each.last_offset for each in state.batches] == [10, 20]
    plain = build_batch([NewRecord(value=b"v")] * 4, base_offset=30)
    states.replay(read_header(plain), plain)
    assert (len(states), states.map_end_offset) == (1, 34)
    marker = build_marker_batch(EndTxnMarker(ControlType.ABORT, 3), 7, 0, 2000, 34)
    assert states.replay(read_header(marker), marker) is None
    assert (state.coordinator_epoch, states.map_end_offset) == (3, 35)


def test_an_empty_control_batch_says_nothing() -> None:
    """Compaction leaves one where a marker was the last batch of its producer."""
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    marker = build_marker_batch(EndTxnMarker(ControlType.ABORT, 3), 7, 0, 2000, 11)
    empty = marker[:61]
    header = read_header(marker)._replace(batch_length=49, records_count=0)
    pack_header(empty, header)
    assert states.check(header, empty, AppendOrigin.COORDINATOR) is None
    assert states.replay(header, empty) is None
    assert states.map_end_offset == 12
    assert states.first_unstable_offset == 10
    of_nobody = header._replace(producer_id=8, base_offset=12)
    states.replay(of_nobody, empty)
    assert states.get(8) is None


def test_a_marker_that_makes_no_sense_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only a log that was damaged and not checked holds one."""
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    marker = build_marker_batch(EndTxnMarker(ControlType.ABORT, 3), 7, 0, 2000, 11)
    for position in range(61, len(marker)):
        for damage in (0x00, 0x7F, 0xFF):
            damaged = bytearray(marker)
            damaged[position] = damage
            header = read_header(damaged)
            states.map_end_offset = 11
            completed = states.replay(header, damaged)
            assert states.map_end_offset == 12
            if completed is not None:
                states.complete(completed)
                write(states, 10, is_transactional=True)
    assert "ends no transaction" in caplog.text


@pytest.mark.parametrize("damage", range(61))
def test_a_cut_marker_ends_nothing(damage: int) -> None:
    states = ProducerStates(DAY_MS)
    write(states, 10, is_transactional=True)
    marker = build_marker_batch(EndTxnMarker(ControlType.ABORT, 3), 7, 0, 2000, 11)
    header = read_header(marker)
    assert states.add(header, marker[: 61 + damage % 17], 11, 2000) is None


@given(st.binary(max_size=4 * 46))
def test_a_snapshot_of_any_bytes_is_loaded_or_passed_over(content: bytes) -> None:
    """Damaged ones have the wrong checksum; these have the right one."""
    count = (len(content) // 46).to_bytes(4, "big")
    body = count + content[: len(content) // 46 * 46]
    data = b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body
    files, states = FakeFiles(), ProducerStates(DAY_MS)
    files.put(snapshot_path(DIRECTORY, 10), data)
    load_newest_snapshot(files, DIRECTORY, states, 10, now_ms=2000)
    states.encode()
    for _ in states.remove_expired(10**15):
        pass
    states.on_high_watermark(10)
