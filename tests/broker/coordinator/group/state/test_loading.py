"""Batches of offsets are taken together as record by record, or left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.state.records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
)
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from tests.broker.coordinator.group.rig import NOW_MS, TOPIC_ID, Groups

NAMES = st.text(max_size=2)
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
    batch = st.lists(records, min_size=1, max_size=4)
    return st.lists(batch, min_size=1, max_size=6)


def log_of(batches: list[list[OffsetRecord]]) -> bytes:
    data, offset = bytearray(), 100
    for number, records in enumerate(batches):
        time = NOW_MS + number
        new = [NewRecord(*each.encode(), time) for each in records]
        data += build_batch(new, base_offset=offset)
        offset += len(records)
    return bytes(data)


def replay(state: GroupShard, batch: bytes) -> None:
    for record in iterate(batch):
        assert record.key is not None
        found = state.decode(record.key, record.value)
        if found is not None:
            state.replay(found, Place(record.offset, record.timestamp))


def one_by_one(data: bytes) -> GroupShard:
    state = Groups().state
    for position, header in scan(data):
        replay(state, data[position : position + header.size])
    return state


def together(data: bytes) -> tuple[GroupShard, int]:
    """The state of a log, and how many of its records were taken."""
    state, position, count = Groups().state, 0, 0
    while position < len(data):
        taken = state.take_batches(data, position)
        if taken is None:
            size = read_header(data[position:]).size
            replay(state, data[position : position + size])
            position += size
        else:
            assert len(list(taken.steps)) >= 1
            position, count = taken.position, count + taken.record_count
            assert taken.next_offset > 100
    return state, count


def content(state: GroupShard) -> object:
    committed = state.offsets._committed
    return (
        [(name, list(offsets.items())) for name, offsets in committed.items()],
        [
            (name, group.state, group.state_timestamp)
            for name, group in state.groups.items()
        ],
    )


@given(offsets_of(USUAL))
@settings(max_examples=100)
def test_usual_offsets_are_taken_as_record_by_record(
    batches: list[list[OffsetRecord]],
) -> None:
    data = log_of(batches)
    state, count = together(data)
    assert count == sum(map(len, batches))
    assert content(state) == content(one_by_one(data))


@given(offsets_of(USUAL | OTHER | st.none()))
@settings(max_examples=100)
def test_what_is_taken_is_right_and_everything_else_is_left(
    batches: list[list[OffsetRecord]],
) -> None:
    data = log_of(batches)
    state, count = together(data)
    assert state.offsets._committed == one_by_one(data).offsets._committed
    usual = [all(map(is_usual, records)) for records in batches]
    assert count == sum(
        len(records)
        for records, is_taken in zip(batches, usual, strict=True)
        if is_taken
    )


def is_usual(record: OffsetRecord) -> bool:
    committed = record.committed
    return (
        committed is not None
        and not committed.metadata
        and committed.expire_timestamp == -1
        and committed.topic_id != bytes(16)
    )


@given(st.binary(max_size=60), st.binary(min_size=42, max_size=42))
def test_any_bytes_are_taken_or_left(key: bytes, value: bytes) -> None:
    Groups().state.take_batches(build_batch([NewRecord(key, value, NOW_MS)]), 0)


def test_names_that_are_none_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    committed = CommittedOffset(5, topic_id=TOPIC_ID)
    key, value = OffsetRecord("g?", "t", 0, committed).encode()
    good = NewRecord(*OffsetRecord("g", "t", 0, committed).encode(), NOW_MS)
    bad = NewRecord(key.replace(b"?", b"\xff"), value, NOW_MS)
    state, count = together(bytes(build_batch([bad, good], base_offset=100)))
    assert count == 2
    assert list(state.offsets.group_ids()) == ["g"]
    assert "record 100 is passed over" in caplog.text


def test_a_long_stretch_is_taken_in_steps() -> None:
    records = [
        OffsetRecord(
            f"g{number % 7}", "t", number, CommittedOffset(1, topic_id=b"i" * 16)
        )
        for number in range(1200)
    ]
    data = log_of([records, records])
    state = Groups().state
    taken = state.take_batches(data, 0)
    assert taken is not None
    sizes = [len(state.offsets) for _ in taken.steps]
    assert sizes == [500, 1000, 1200]
    assert content(state) == content(one_by_one(data))


def test_groups_and_strangers_are_left() -> None:
    for record in (GroupRecord("g", None), OffsetRecord("g", "t", 0, None)):
        batch = build_batch([NewRecord(*record.encode(), NOW_MS)])
        assert Groups().state.take_batches(bytes(batch), 0) is None
    nobody = build_batch([NewRecord(None, bytes(42))])
    assert Groups().state.take_batches(bytes(nobody), 0) is None
