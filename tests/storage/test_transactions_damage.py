"""Transactions in a log that has one damaged batch: a marker, or what it decides.

A committed reader never gets what was aborted or is undecided. It gets all that was
committed, except where nobody can know: behind a damaged commit marker of a log that
was not closed, a transaction stays open until its coordinator ends it.
"""

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odradek.protocol.record_batch import BatchHeader, scan
from odradek.storage.formats.transaction_entry import TRANSACTION_ENTRY_SIZE
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_read import AbortedTransaction
from tests.storage.logs import append, files_of, reopened, sync
from tests.storage.test_transactions_model import COMMITTED, Ended, Model, Step, consume

EXAMPLES = 2000 if os.environ.get("ODRADEK_LONG") else 60
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["write"] * 4 + ["commit", "abort", "plain", "snapshot"]),
        st.integers(0, 2),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=30,
)


def damage(model: Model, header: BatchHeader, at: int, was_clean: bool) -> None:
    """Stop, turn a bit of a batch over, and open the log again."""
    log = model.log
    segment = log.local.segments.floor(header.base_offset)
    assert segment is not None
    position = next(
        position
        for position, found in scan(files_of(log).content(segment.log.path))
        if found.base_offset == header.base_offset
    )
    end = log.log_end_offset
    if was_clean:
        assert log.close()
    files_of(log).flip(segment.log.path, position + at)
    model.log = reopened(log, was_clean=was_clean, recovery_point=end)


def committed_reads(model: Model, size_max: int) -> list[int]:
    """The base offsets of the batches that a client keeps, empty ones left out."""
    kept: list[int] = []
    offset = 0
    while True:
        data = model.log.read(offset, size_max, COMMITTED, may_block=True)
        batches = [
            (header, bytes(data.records[at : at + header.size]))
            for at, header in scan(data.records)
            if header.records_count
        ]
        kept += consume(batches, data.aborted or [])
        if not len(data.records):
            return kept
        *_, (_, last) = scan(data.records)
        offset = last.next_offset


def decided(
    model: Model, ended: list[Ended], still_open: dict[int, int]
) -> list[BatchHeader]:
    """The batches of records that were not aborted, and are of no open transaction."""

    def is_out(header: BatchHeader) -> bool:
        producer_id, offset = header.producer_id, header.base_offset
        return offset >= still_open.get(producer_id, 1 << 62) or any(
            each.is_aborted
            and each.producer_id == producer_id
            and each.first_offset <= offset < each.last_offset
            for each in ended
        )

    return [
        header
        for header, _ in model.batches
        if not header.is_control and not is_out(header)
    ]


WRITE, ABORT, COMMIT = Step("write"), Step("abort"), Step("commit")


@settings(max_examples=EXAMPLES)
@example([WRITE, COMMIT], 1, 64, True, 1)
@example([WRITE, ABORT], 1, 64, True, 1)
@example([WRITE, ABORT, WRITE, COMMIT], 1, 64, False, 1 << 20)
@example([WRITE, WRITE, ABORT, WRITE, COMMIT], 0, 64, False, 1 << 20)
@given(
    STEPS,
    st.integers(0, 30),
    st.integers(57, 65),
    st.booleans(),
    st.sampled_from([1, 200, 1 << 20]),
)
def test_one_damaged_batch_hides_nothing_else_and_shows_nothing_aborted(
    steps: list[Step], victim: int, at: int, was_clean: bool, size_max: int
) -> None:
    model = Model()
    for step in [*steps, Step("sync")]:
        model.take(step)
    if not model.batches:
        return
    header, _ = model.batches[min(victim, len(model.batches) - 1)]
    ended, still_open = model.transactions()
    damage(model, header, at, was_clean)
    allowed = {each.base_offset for each in decided(model, ended, still_open)} - {
        header.base_offset
    }
    kept = committed_reads(model, size_max)
    assert set(kept) <= allowed
    assert kept == sorted(kept)
    is_commit = any(
        each.last_offset == header.base_offset and not each.is_aborted for each in ended
    )
    if was_clean or not is_commit:
        stable = min(still_open.values(), default=1 << 62)
        assert set(kept) >= {offset for offset in allowed if offset < stable}


def test_a_damaged_commit_marker_is_reported_and_its_transaction_waits() -> None:
    """Of a log that was not closed; what it decided is known to the coordinator."""
    model = Model()
    for step in (WRITE, COMMIT, Step("plain"), Step("sync")):
        model.take(step)
    damage(model, model.batches[1][0], 64, was_clean=False)
    assert model.log.last_stable_offset == 0
    assert committed_reads(model, 1 << 20) == []
    model.log.visibility.raise_to(model.log.log_end_offset)
    model.take(COMMIT)
    model.take(Step("sync"))
    assert model.log.last_stable_offset == model.log.log_end_offset
    assert committed_reads(model, 1 << 20) == [0, 2]


def test_the_index_tells_the_next_transaction_from_the_one_before() -> None:
    """A damaged commit marker, then an abort: of what it says it aborts."""
    model = Model()
    for step in (WRITE, COMMIT, WRITE, ABORT, Step("plain"), Step("sync")):
        model.take(step)
    damage(model, model.batches[1][0], 64, was_clean=False)
    assert committed_reads(model, 1 << 20) == [0, 4]


def test_an_abort_marker_that_was_cut_may_be_written_again() -> None:
    """After a clean stop: with the checkpoints, and without the recovery point."""
    for recovery_point in (0, 2):
        model = Model()
        for step in (WRITE, Step("sync"), ABORT):
            model.take(step)
        assert model.log.close()
        files_of(model.log).cut("00000000000000000000.log", by=5)
        model.log = reopened(model.log, was_clean=True, recovery_point=recovery_point)
        assert model.log.log_end_offset == max(1, recovery_point)
        # Who knows of the marker by the checkpoint believes the index too.
        assert model.log.last_stable_offset == recovery_point
        batch = model.batches.pop()[1]
        append(model.log, bytearray(batch), AppendOrigin.COORDINATOR)
        sync(model.log)
        assert model.log.last_stable_offset == model.log.log_end_offset
        data = model.log.read(0, 1 << 20, COMMITTED, may_block=True)
        assert data.aborted == [AbortedTransaction(0, 0)]


ENTRY = TRANSACTION_ENTRY_SIZE


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_cut_transaction_index_is_made_again(was_clean: bool) -> None:
    """At every byte that is within an entry."""
    for size in (*range(1, ENTRY), *range(ENTRY + 1, 2 * ENTRY)):
        model, name, content = with_two_aborted()
        files_of(model.log).cut(name, by=len(content) - size)
        check_index_again(model, name, content, was_clean)


@pytest.mark.parametrize("was_clean", [True, False])
@pytest.mark.parametrize("position", [0, ENTRY])
def test_a_transaction_index_that_makes_no_sense_is_made_again(
    position: int, was_clean: bool
) -> None:
    model, name, content = with_two_aborted()
    files_of(model.log).flip(name, position)
    check_index_again(model, name, content, was_clean)


def with_two_aborted() -> tuple[Model, str, bytes]:
    """A log that was closed, and its transaction index."""
    model = Model()
    for step in (WRITE, ABORT, WRITE, COMMIT, WRITE, ABORT, Step("snapshot")):
        model.take(step)
    assert model.log.close()
    name = "00000000000000000000.txnindex"
    content = files_of(model.log).content(name)
    assert len(content) == 2 * ENTRY
    return model, name, content


def check_index_again(model: Model, name: str, content: bytes, was_clean: bool) -> None:
    end = model.log.log_end_offset
    model.log = reopened(model.log, was_clean=was_clean, recovery_point=end)
    assert files_of(model.log).content(name) == content
    assert committed_reads(model, 1 << 20) == [2]


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_transaction_index_of_nothing_is_removed(was_clean: bool) -> None:
    model = Model()
    for step in (WRITE, COMMIT, Step("snapshot")):
        model.take(step)
    end = model.log.log_end_offset
    assert model.log.close()
    path = model.log.local.segments.first.transactions.path
    files_of(model.log).put(path, b"no entries")
    model.log = reopened(model.log, was_clean=was_clean, recovery_point=end)
    assert not files_of(model.log).exists(path)
    for step in (WRITE, ABORT):
        model.take(step)
    assert len(files_of(model.log).content(path)) == ENTRY
    assert committed_reads(model, 1 << 20) == [0]
