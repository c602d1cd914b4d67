"""What a committed reader is told to leave out, over segments and transactions."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.values.log_read import AbortedTransaction
from tests.storage.interleaved import InterleavedLog, Step, consume, steps

EXAMPLES = 2000 if os.environ.get("ODRADEK_LONG") else 60


def test_t039_aborted_list_spans_segments() -> None:
    """Open in segment 1, nothing of it in 2 where the fetch is, aborted in 3."""
    log = InterleavedLog()
    log.write(1, 2, is_transactional=True)
    log.roll()
    log.write(11, 3, is_transactional=False)
    fetch_offset = log.end - 2
    log.roll()
    log.write(1, 1, is_transactional=True)
    log.mark(1, is_abort=True)
    in_the_second = log.segments.floor(fetch_offset)
    assert not in_the_second.transactions.entries()
    assert log.collected(fetch_offset, log.end) == [AbortedTransaction(1, 0)]
    assert log.collected(fetch_offset, fetch_offset + 1) == [AbortedTransaction(1, 0)]
    assert log.collected(log.end, log.end) == []


def test_t040_aborted_search_stops_at_the_lso_bound() -> None:
    log = InterleavedLog()
    for _ in range(3):
        log.write(1, 1, is_transactional=True)
        log.mark(1, is_abort=True)
        log.roll()
    # The first segment's entry says that nothing older was open: no other is read.
    opened = log.files.counts["open"]
    for segment in list(log.segments)[1:]:
        segment.transactions._entries = None
    assert log.collected(0, 2) == [AbortedTransaction(1, 0)]
    assert log.files.counts["open"] == opened
    assert [s.transactions._entries for s in list(log.segments)[1:]] == [None] * 3


def test_no_segment_and_no_entry_is_no_transaction() -> None:
    log = InterleavedLog()
    assert log.collected(0, 0) == []
    log.write(1, 1, is_transactional=True)
    assert log.collected(0, 5) == [], "it is open"
    log.mark(1, is_abort=False)
    log.roll()
    assert log.collected(0, 5) == [], "it was committed"


@settings(max_examples=EXAMPLES)
@given(steps())
def test_a74_every_range_gets_what_the_rule_says(all_steps: list[Step]) -> None:
    log = InterleavedLog(all_steps)
    for fetch_offset in range(log.end + 1):
        for upper_bound in range(fetch_offset, log.end + 2):
            found = log.collected(fetch_offset, upper_bound)
            assert found == log.aborted(fetch_offset, upper_bound)


@settings(max_examples=EXAMPLES)
@given(steps(), st.data())
def test_a_client_keeps_what_was_committed(
    all_steps: list[Step], data: st.DataObject
) -> None:
    log = InterleavedLog(all_steps)
    stable = min(log.open.values(), default=log.end)
    fetch_offset = data.draw(st.integers(0, stable))
    upper_bound = data.draw(st.integers(fetch_offset, stable))
    kept = consume(log, fetch_offset, upper_bound)
    assert kept == log.committed(fetch_offset, upper_bound)


@settings(max_examples=EXAMPLES)
@given(steps(), st.data())
def test_recovery_writes_the_same_indexes(
    all_steps: list[Step], data: st.DataObject
) -> None:
    log = InterleavedLog(all_steps)
    before = log.index_files(), log.states.encode()
    bases = [segment.base_offset for segment in log.segments]
    log.recover_from(data.draw(st.sampled_from(bases)))
    assert (log.index_files(), log.states.encode()) == before
    log.states.on_high_watermark(log.end)
    assert log.states.first_unstable_offset == min(log.open.values(), default=-1)


@settings(max_examples=EXAMPLES)
@given(steps(), st.data())
def test_truncation_leaves_what_was_written_up_to_there(
    all_steps: list[Step], data: st.DataObject
) -> None:
    log = InterleavedLog(all_steps)
    ends = [0, *(header.next_offset for header, _ in log.batches)]
    offset = data.draw(st.sampled_from(ends))
    log.truncate_to(offset)
    fresh = InterleavedLog()
    for step in all_steps:
        if fresh.end == offset:
            break
        fresh.take(step)
    assert log.index_files() == fresh.index_files()
    assert log.states.encode() == fresh.states.encode()
    assert log.states.map_end_offset == offset
    for state in (log.states, fresh.states):
        state.on_high_watermark(offset)
    assert log.states.first_unstable_offset == fresh.states.first_unstable_offset
