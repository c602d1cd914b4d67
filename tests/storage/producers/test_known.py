"""Producers at work and at rest: what is known of them is the same."""

import logging
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.producer_entry import ProducerEntry, parse_producers
from odradek.storage.producers.known import CHANGED_MAX, KnownProducers
from odradek.storage.producers.state import BatchMetadata, ProducerState
from odradek.storage.producers.table import PIECE_LENGTH

DAY_MS = 86_400_000


def changed(known: KnownProducers, producer_id: int) -> ProducerState:
    """The producer, about to be changed."""
    state = known.get(producer_id)
    if state is None:
        return known.add(producer_id)
    if state.is_packed:
        known.note_change(state)
    return state


def write(
    known: KnownProducers, producer_id: int, offset: int, timestamp: int = 1000
) -> None:
    batch = BatchMetadata(offset, offset, 0, timestamp)
    changed(known, producer_id).add_batch(0, batch)


def fields(state: ProducerState) -> tuple[object, ...]:
    return (
        state.producer_id,
        state.producer_epoch,
        state.coordinator_epoch,
        state.last_timestamp,
        state.current_txn_first_offset,
        tuple(state.batches),
    )


def expire(known: KnownProducers, now_ms: int) -> int:
    """Lets expired ones go; the steps that it took."""
    return 1 + sum(1 for _ in known.remove_expired(now_ms, DAY_MS))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "write", "marker", "read", "picture", "expire"]),
            st.integers(0, 9),
            st.integers(0, 3),
        ),
        max_size=60,
    )
)
def test_rest_changes_nothing_that_is_known(steps: list[tuple[str, int, int]]) -> None:
    """Two are at work at most, of up to ten; beside them a dict, where all are."""
    known, plain = KnownProducers(at_work_max=2), dict[int, ProducerState]()
    for offset, (kind, producer_id, number) in enumerate(steps):
        if kind == "write":
            batch = BatchMetadata(offset, offset, 0, number)
            for state in (
                changed(known, producer_id),
                plain.setdefault(producer_id, ProducerState(producer_id)),
            ):
                state.add_batch(number, batch)
                state.current_txn_first_offset = number - 1
        elif kind == "marker":
            for state in (
                changed(known, producer_id),
                plain.setdefault(producer_id, ProducerState(producer_id)),
            ):
                state.end_transaction(number, 5, offset)
        elif kind == "read":
            found, expected = known.get(producer_id), plain.get(producer_id)
            assert (found and fields(found)) == (expected and fields(expected))
        elif kind == "picture":
            rows = parse_producers(known.picture().encode())
            assert {each.producer_id: each.last_offset for each in rows} == {
                each.producer_id: each.last_offset for each in plain.values()
            }
        else:
            expire(known, DAY_MS + number)
            for state in list(plain.values()):
                if state.last_timestamp <= number and not state.has_transaction:
                    del plain[state.producer_id]
        assert len(known.at_work) <= 2
    assert sorted(map(fields, known)) == sorted(map(fields, plain.values()))
    assert len(known) == len(plain)


def test_five_batches_outlast_a_rest() -> None:
    known = KnownProducers(at_work_max=1)
    for offset in range(7):
        write(known, 1, offset)
    write(known, 2, 7)
    assert list(known.at_work) == [2]
    state = known.get(1)
    assert state is not None
    assert [batch.last_offset for batch in state.batches] == [2, 3, 4, 5, 6]
    assert list(known.at_work) == [1]


def test_silence_expires_a_producer_unless_it_has_a_transaction() -> None:
    known = KnownProducers()
    write(known, 1, 0)
    write(known, 2, 1)
    changed(known, 2).current_txn_first_offset = 1
    expire(known, 999 + DAY_MS)
    assert len(known) == 2
    expire(known, 1000 + DAY_MS)
    assert known.get(1) is None
    assert known.get(2)


def test_expiry_goes_in_steps_and_producers_go_on_between_them() -> None:
    known, total = KnownProducers(), 4 * PIECE_LENGTH
    for producer_id in range(total):
        write(known, producer_id, producer_id)
    steps = known.remove_expired(1000 + DAY_MS, DAY_MS)
    for number in count(1):
        if next(steps, steps) is steps:
            break
        assert len(known) == total - number * PIECE_LENGTH + (number > 1)
        write(known, 0, total + number, timestamp=DAY_MS)
        if number == 1:
            write(known, total, total, timestamp=DAY_MS)
    assert {state.producer_id for state in known} == {0, total}


def test_changed_rows_are_packed_before_they_are_many() -> None:
    known = KnownProducers()
    for producer_id in range(3 * CHANGED_MAX):
        write(known, producer_id, producer_id)
        assert sum(not each.is_packed for each in known.at_work.values()) <= CHANGED_MAX


def test_a_full_partition_forgets_the_silent(caplog: pytest.LogCaptureFixture) -> None:
    known = KnownProducers(producers_max=20)
    known.owner = "t-0"
    for producer_id in range(20):
        write(known, producer_id, producer_id, timestamp=100 - producer_id)
    changed(known, 19).current_txn_first_offset = 19
    with caplog.at_level(logging.WARNING):
        for producer_id in (100, 101):
            write(known, producer_id, producer_id, timestamp=1000)
    assert len(known) == 20
    assert {known.get(100), known.get(101)}.isdisjoint({None})
    assert known.get(19), "its transaction is open"
    # Of the first sixteen the one with the oldest timestamp, then of the last four.
    assert [each for each in range(20) if known.get(each) is None] == [15, 18]
    assert [record.getMessage() for record in caplog.records] == [
        "t-0 has 20 producers, as many as are remembered: for each new one, one that"
        " is silent is forgotten"
    ]


def test_where_all_have_transactions_nobody_is_forgotten() -> None:
    known = KnownProducers(producers_max=2)
    for producer_id in range(4):
        write(known, producer_id, producer_id)
        changed(known, producer_id).current_txn_first_offset = producer_id
    assert len(known) == 4


def test_what_is_loaded_rests() -> None:
    known = KnownProducers()
    expired = ProducerEntry(1, 0, 0, 0, 0, 0, -1, -1)
    loaded = ProducerEntry(2, 0, 7, 9, 1, 5, -1, -1)
    is_open = ProducerEntry(3, 1, 8, 20, 1, 0, 4, 12)
    found = known.load([expired, loaded, is_open], DAY_MS, DAY_MS)
    assert [state.producer_id for state in found] == [3]
    assert list(known.at_work) == [3]
    assert known.get(1) is None
    state = known.get(2)
    assert state is not None
    assert state.batches == [BatchMetadata(7, 9, 1, 5)]
    assert parse_producers(known.picture().encode()) == [loaded, is_open]
