"""Producers replayed from batches, and the transaction indexes that come of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.control_records import ControlType
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.replay import ProducerReplay
from odradek.storage.producers.states import ProducerStates
from tests.storage.logs import (
    DIRECTORY,
    Producer,
    closed,
    files_of,
    marker,
    new_log,
    produce,
    producers,
    reopened,
    sync,
)

INDEX = DIRECTORY / f"{0:020d}.txnindex"


def with_transactions(kinds: list[ControlType]) -> UnifiedLog:
    """Transactions of two records and a marker each, in one segment."""
    log = new_log(segment_bytes=100_000)
    for number, kind in enumerate(kinds):
        produce(log, 2, producer=Producer(7, 0, 2 * number), is_transactional=True)
        marker(log, kind)
    sync(log)
    return log


def damage_marker(log: UnifiedLog, offset: int) -> None:
    found = log.local.active.reader.find(offset)
    assert found is not None
    files_of(log).flip(log.local.active.log.path, found[0] + 70)


ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


@given(st.lists(st.integers(-1, 4), max_size=60))
def test_replay_of_many_equals_what_the_appends_left(ids: list[int]) -> None:
    log = new_log(segment_bytes=2000)
    sequences = dict.fromkeys(range(-1, 5), 0)
    for producer_id in ids:
        producer = Producer()
        if producer_id >= 0:
            producer = Producer(producer_id, 0, sequences[producer_id])
        produce(log, 2, producer=producer)
        sequences[producer_id] += 2
    replay = ProducerReplay(ProducerStates(1 << 60))
    for segment in log.local.segments:
        recovery = replay.read(segment, 0)
        replay.end(segment, recovery.next_offset)
    found = {each.producer_id: each.batches for each in replay.producers}
    assert found == {each.producer_id: each.batches for each in log.producers}
    assert replay.producers.map_end_offset == log.log_end_offset


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 34, b"\0" * 33])
@pytest.mark.parametrize("recovery_point", [0, 3, 6])
def test_a_bad_transaction_index_is_noticed_and_rebuilt(
    content: bytes | None, recovery_point: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = with_transactions([ABORT, COMMIT, ABORT])
    before = files_of(log).content(INDEX)
    if content is None:
        files_of(log).unlink(INDEX)
    else:
        files_of(log).put(INDEX, content)
    reopened(log, recovery_point=recovery_point)
    assert files_of(log).content(INDEX) == before
    assert "noticed and rebuilt" in caplog.text


@pytest.mark.parametrize("content", [b"", b"\xff" * 34, b"\0" * 33])
def test_also_after_a_clean_stop(content: bytes) -> None:
    log = closed(with_transactions([ABORT, COMMIT, ABORT]))
    before = files_of(log).content(INDEX)
    files_of(log).put(INDEX, content)
    reopened(log, was_clean=True, recovery_point=9)
    assert files_of(log).content(INDEX) == before


def test_an_empty_index_without_aborted_transactions_goes() -> None:
    log = closed(with_transactions([COMMIT]))
    files_of(log).put(INDEX, b"")
    reopened(log, was_clean=True, recovery_point=3)
    assert not files_of(log).exists(INDEX)


@pytest.mark.parametrize("recovery_point", [0, 9])
def test_a_damaged_abort_marker_is_decided_by_the_index(recovery_point: int) -> None:
    log = with_transactions([ABORT, ABORT, COMMIT])
    before = files_of(log).content(INDEX)
    damage_marker(log, 5)
    again = reopened(log, recovery_point=recovery_point)
    assert files_of(log).content(INDEX) == before
    assert again.last_stable_offset == again.log_end_offset == 9


@pytest.mark.parametrize("was_clean", [True, False])
def test_also_the_last_marker_of_the_log(was_clean: bool) -> None:
    log = with_transactions([COMMIT, ABORT])
    if was_clean:
        closed(log)
    before = files_of(log).content(INDEX)
    damage_marker(log, 5)
    again = reopened(log, was_clean=was_clean, recovery_point=6)
    assert files_of(log).content(INDEX) == before
    assert again.last_stable_offset == again.log_end_offset == 6


def test_a_damaged_marker_that_no_index_knows_leaves_it_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = with_transactions([ABORT, COMMIT])
    produce(log, 1)
    sync(log)
    damage_marker(log, 5)
    again = reopened(log)
    assert again.last_stable_offset == 3
    assert (
        "the transaction of producer 7 from offset 3 on may have ended" in caplog.text
    )


def test_an_abort_behind_damage_begins_where_the_index_says() -> None:
    log = with_transactions([COMMIT, ABORT])
    before = files_of(log).content(INDEX)
    damage_marker(log, 2)
    again = reopened(log)
    assert files_of(log).content(INDEX) == before
    assert again.last_stable_offset == 6


def test_t077_producers_are_the_same_from_any_snapshot() -> None:
    log = new_log()
    for number in range(40):
        produce(log, 2, producer=Producer(number % 3, 0, 2 * (number // 3)))
    sync(log)
    expected = producers(log)
    snapshots = [path for path in files_of(log).paths() if path.suffix == ".snapshot"]
    assert len(snapshots) > 2
    for snapshot in snapshots:
        files_of(log).unlink(snapshot)
        assert producers(reopened(log, recovery_point=80)) == expected
