"""Whole batches of offsets are taken as record by record, or left alone."""

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.state.records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
)
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch, index_rows, iterate
from tests.broker.coordinator.group.rig import NOW_MS, TOPIC_ID, Groups

NAMES = st.text(max_size=4)
USUAL = st.builds(
    CommittedOffset,
    st.integers(-5, 1 << 60),
    st.integers(-1, 1 << 20),
    st.just(""),
    st.just(NOW_MS),
    st.just(-1),
    st.binary(min_size=16, max_size=16).filter(any),
)
OTHER = st.builds(
    CommittedOffset,
    st.integers(0, 9),
    st.just(-1),
    st.sampled_from(["", "note"]),
    st.just(NOW_MS),
    st.sampled_from([-1, NOW_MS]),
    st.sampled_from([bytes(16), TOPIC_ID]),
)


def offsets_of(values: st.SearchStrategy[CommittedOffset | None]) -> st.SearchStrategy:  # type: ignore[type-arg]
    records = st.builds(OffsetRecord, NAMES, NAMES, st.integers(0, 3), values)
    return st.lists(records, min_size=1, max_size=8)


def batch_of(records: list[OffsetRecord]) -> memoryview:
    new = [NewRecord(*each.encode(), NOW_MS) for each in records]
    return memoryview(build_batch(new, base_offset=100))


def one_by_one(batch: memoryview) -> GroupShard:
    state = Groups().state
    for record in iterate(batch):
        assert record.key is not None
        found = state.decode(record.key, record.value)
        state.replay(found, Place(record.offset, record.timestamp))
    return state


def at_once(batch: memoryview) -> tuple[GroupShard, bool]:
    state, header = Groups().state, read_header(batch)
    return state, state.replay_batch(header, *index_rows(batch, header))


def content(state: GroupShard) -> object:
    committed = state.offsets._committed
    return committed, {name: group.state for name, group in state.groups.items()}


@given(offsets_of(USUAL))
@settings(max_examples=100)
def test_usual_offsets_are_taken_as_record_by_record(
    records: list[OffsetRecord],
) -> None:
    batch = batch_of(records)
    state, is_taken = at_once(batch)
    assert is_taken
    assert content(state) == content(one_by_one(batch))


@given(offsets_of(USUAL | OTHER | st.none()))
@settings(max_examples=100)
def test_what_is_taken_is_right_and_everything_else_is_left(
    records: list[OffsetRecord],
) -> None:
    batch = batch_of(records)
    state, is_taken = at_once(batch)
    if is_taken:
        assert content(state) == content(one_by_one(batch))
    else:
        assert any(
            each.committed is None
            or each.committed.metadata
            or each.committed.expire_timestamp != -1
            or each.committed.topic_id == bytes(16)
            for each in records
        )


@given(st.binary(max_size=60), st.binary(min_size=42, max_size=42))
def test_any_bytes_are_taken_or_left(key: bytes, value: bytes) -> None:
    batch = memoryview(build_batch([NewRecord(key, value, NOW_MS)]))
    at_once(batch)


def test_groups_and_strangers_are_left() -> None:
    for record in (GroupRecord("g", None), OffsetRecord("g", "t", 0, None)):
        new = [NewRecord(*record.encode(), NOW_MS)]
        assert not at_once(memoryview(build_batch(new)))[1]
    assert not at_once(memoryview(build_batch([NewRecord(None, bytes(42))])))[1]
