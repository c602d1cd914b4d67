"""The last offset of each group and partition: C, its twin and a dict agree."""

from array import array
from struct import Struct
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.group_records import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.latest_commits import COMMIT_COLUMNS
from odradek.protocol.plain import latest_commits as latest_commits_plain
from odradek.protocol.record_batch import TRANSACTIONAL, read_header, scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from tests.protocol.walked_batches import laid_out

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)
MODULES: tuple[ModuleType, ...] = (latest_commits_plain, speedups)
PLAIN_AND_FAST = pytest.mark.parametrize("made", MODULES)

SECRET = bytes(range(16))
ROW = Struct(f"={COMMIT_COLUMNS}q")
ENOUGH = 1000

Found = tuple[int, int, int, int]
# Group, topic, partition: offset, epoch, time, topic id, offset of the record, begun.
Commits = dict[tuple[bytes, bytes, int], tuple[int, int, int, bytes, int, int]]

names = st.sampled_from(["", "g", "another", "名"])
uuids = st.sampled_from([bytes(16), bytes(range(16))])


def commit(
    group: str,
    topic: str,
    partition: int,
    offset: int,
    version: int = 4,
    **more: object,
) -> NewRecord:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition).encode(0)
    value = OffsetCommitValue(offset=offset, **more).encode(version)
    kind = b"\0\1"
    return NewRecord(kind + key, version.to_bytes(2, "big") + value, 5)


usual = st.builds(
    commit,
    names,
    names,
    st.integers(-(2**31), 2**31 - 1) | st.just(0),
    st.integers(-(2**63), 2**63 - 1),
    st.just(4),
    leader_epoch=st.integers(-1, 9),
    commit_timestamp=st.integers(-1, 2**62),
    topic_id=uuids.filter(any),
)
older = st.builds(
    commit,
    names,
    names,
    st.just(0),
    st.integers(0, 9),
    st.just(3),
    leader_epoch=st.integers(-1, 9),
)
others = st.one_of(
    st.builds(commit, names, names, st.just(0), st.just(1), metadata=st.just("note")),
    st.builds(commit, names, names, st.just(0), st.just(1), topic_id=uuids),
    st.builds(NewRecord, st.none() | st.binary(max_size=12), st.none()),
    st.builds(NewRecord, st.binary(max_size=12), st.binary(min_size=24, max_size=24)),
)


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    kinds = draw(st.sampled_from([usual, usual | older, usual | older | others]))
    return build_batch(
        draw(st.lists(kinds, min_size=1, max_size=5)),
        is_transactional=draw(st.sampled_from([False, False, False, True])),
        compression=draw(st.sampled_from([0, 0, 0, 1])),
        log_append_time_ms=draw(st.sampled_from([None, 7])),
    )


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Batches one behind another; sometimes a byte is another, or the end is cut."""
    data = bytearray(laid_out(draw(st.lists(batches(), max_size=5))))
    if data and draw(st.integers(0, 3)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        del data[draw(st.integers(0, len(data)) | st.just(len(data))) :]
    return bytes(data)


def find(
    made: ModuleType,
    data: bytes,
    position: int = 0,
    keys: int = 20,
    records: int = ENOUGH,
) -> tuple[Found, list[tuple[int, ...]]]:
    """What is found, and its rows."""
    rows, slots = bytearray(ROW.size * keys), bytearray(b"\xff" * 24 * 40)
    found = made.latest_commits(data, slots, SECRET, rows, position, records)
    return found, list(ROW.iter_unpack(rows))[: found[3]]


def as_commits(data: bytes, rows: list[tuple[int, ...]]) -> Commits:
    found: Commits = {}
    for group_at, group_size, topic_size, partition, *value in rows:
        offset, epoch, time, uuid_at, record_offset, begun = value
        topic_at = group_at + group_size + 2
        key = (
            data[group_at : group_at + group_size],
            data[topic_at : topic_at + topic_size],
            partition,
        )
        uuid = data[uuid_at : uuid_at + 16] if uuid_at >= 0 else bytes(16)
        found[key] = offset, epoch, time, uuid, record_offset, begun
    return found


def one_by_one(data: bytes) -> Commits:
    """The same, decoded as messages."""
    found: Commits = {}
    for position, header in scan(data):
        for record in iterate(data[position : position + header.size]):
            assert record.key is not None
            assert record.value is not None
            key = OffsetCommitKey.decode(record.key[2:], 0)
            version = int.from_bytes(record.value[:2], "big")
            value = OffsetCommitValue.decode(record.value[2:], version)
            name = key.group.encode(), key.topic.encode(), key.partition
            begun = found[name][-1] if name in found else header.max_timestamp
            found[name] = (
                value.offset,
                value.leader_epoch,
                value.commit_timestamp,
                value.topic_id,
                record.offset,
                begun,
            )
    return found


@given(
    logs(),
    st.integers(0, 6) | st.just(20),
    st.integers(0, 8) | st.just(ENOUGH),
    st.booleans(),
)
def test_the_twins_find_alike(
    data: bytes, keys: int, records: int, from_second: bool
) -> None:
    position = 0
    if from_second and len(data) > 61:
        position = max(read_header(data).size, 0)
    plain, fast = (find(made, data, position, keys, records) for made in MODULES)
    assert plain == fast


@given(st.lists(st.lists(usual | older, min_size=1, max_size=5), max_size=5))
def test_what_is_found_is_what_messages_say(kinds: list[list[NewRecord]]) -> None:
    data = bytes(laid_out([build_batch(records) for records in kinds]))
    for made in MODULES:
        (position, next_offset, count, _), rows = find(made, data, keys=40)
        commits = as_commits(data, rows)
        assert list(commits.items()) == list(one_by_one(data).items())
        assert position == len(data)
        assert count == sum(map(len, kinds))
        assert next_offset == (count or -1)


@PLAIN_AND_FAST
@pytest.mark.parametrize(
    "record",
    [
        commit("g", "t", 0, 1, metadata="note", topic_id=bytes(range(16))),
        commit("g", "t", 0, 1, 1, expire_timestamp=9),
        NewRecord(commit("g", "t", 0, 1).key, None),
        NewRecord(None, commit("g", "t", 0, 1, 3).value),
        NewRecord(b"\0\0" + bytes(8), commit("g", "t", 0, 1, 3).value),
        NewRecord(b"\0\2" + bytes(8), commit("g", "t", 0, 1, 3).value),
        NewRecord(b"\0\1" + bytes(9), commit("g", "t", 0, 1, 3).value),
    ],
)
def test_it_ends_before_a_batch_with_anything_else(
    made: ModuleType, record: NewRecord
) -> None:
    before = build_batch([commit("g", "t", 0, 1, 3)])
    data = bytes(laid_out([before, build_batch([record])]))
    found, rows = find(made, data)
    assert found == (len(before), 1, 1, 1)
    assert len(rows) == 1


@PLAIN_AND_FAST
@pytest.mark.parametrize("attributes", [1, 4, TRANSACTIONAL, 0x20])
def test_it_ends_before_a_batch_that_is_not_plain(
    made: ModuleType, attributes: int
) -> None:
    data = build_batch([commit("g", "t", 0, 1, 3)])
    assert find(made, bytes(data))[0] == (len(data), 1, 1, 1)
    data[22] |= attributes
    assert find(made, bytes(data))[0] == (0, -1, 0, 0)


@PLAIN_AND_FAST
def test_what_has_no_room_is_left_for_the_next_time(made: ModuleType) -> None:
    batches = [build_batch([commit(name, "t", 0, 1, 3)]) for name in "aba"]
    data = bytes(laid_out(batches))
    size = len(batches[0])
    assert find(made, data, keys=1)[0] == (size, 1, 1, 1)
    assert find(made, data, keys=2)[0] == (3 * size, 3, 3, 2)
    assert find(made, data, records=2)[0] == (2 * size, 2, 2, 2)
    assert find(made, data, size, records=2)[0] == (3 * size, 3, 2, 2)


@PLAIN_AND_FAST
def test_buffers_and_numbers_that_cannot_be_are_refused(made: ModuleType) -> None:
    rows = array("q")
    with pytest.raises(BufferError, match="slots of 24 bytes"):
        made.latest_commits(b"", bytearray(23), SECRET, rows, 0, 9)
    with pytest.raises(BufferError, match="16 bytes"):
        made.latest_commits(b"", bytearray(24), b"", rows, 0, 9)
    with pytest.raises(ValueError, match="out of range"):
        made.latest_commits(b"", bytearray(24), SECRET, rows, -1, 9)
