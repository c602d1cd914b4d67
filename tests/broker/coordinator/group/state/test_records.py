"""Records of groups: those of Apache Kafka, read and written alike."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.broker.coordinator.group.state.consumer.records import ConsumerRecord
from odradek.broker.coordinator.group.state.records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    decode,
)
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.broker.coordinator.loading import Loader
from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import InvalidRecord
from odradek.protocol.group_records import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.record_batch import scan
from odradek.protocol.records import Record, iterate
from tests.broker.coordinator.group.rig import Groups

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-4.3.1"
CASES = ("consumer-offsets", "transaction-state")


def batches(case: str) -> Iterator[tuple[Any, memoryview]]:
    for path in sorted((GOLDEN / case).glob("log-dir/__consumer_offsets-0/*.log")):
        data = memoryview(path.read_bytes())
        for position, header in scan(data):
            yield header, data[position : position + header.size]


def records(case: str) -> list[Record]:
    return [
        record
        for header, batch in batches(case)
        if not header.is_control
        for record in iterate(batch)
    ]


def load(case: str) -> GroupShard:
    """What the coordinator makes of a log that Apache Kafka wrote."""
    state = Groups().state
    for header, batch in batches(case):
        producer = (-1, -1)
        if header.is_transactional:
            producer = (header.producer_id, header.producer_epoch)
        place = Place(header.base_offset, header.max_timestamp, *producer)
        if header.is_control:
            marker = read_marker(batch)
            assert marker is not None
            state.end_transaction(place, marker.is_commit)
            continue
        for record in iterate(batch):
            assert record.key is not None
            found = state.decode(record.key, record.value)
            if found is not None:
                state.replay(found, place._replace(offset=record.offset))
    state.on_loaded()
    return state


@pytest.mark.parametrize("case", CASES)
def test_what_kafka_wrote_is_written_alike(case: str) -> None:
    kinds = set()
    for record in records(case):
        assert record.key is not None
        found = decode(record.key, record.value)
        if found is not None:
            assert found.encode() == (record.key, record.value)
            kinds.add(type(found))
    assert OffsetRecord in kinds
    assert case != "consumer-offsets" or {GroupRecord, ConsumerRecord} <= kinds


@pytest.mark.parametrize("case", CASES)
def test_t151_offsets_that_kafka_kept_are_there(case: str) -> None:
    expected = json.loads((GOLDEN / case / "expected.json").read_text())
    state = load(case)
    for group_id, offsets in expected["group_offsets"].items():
        found = {
            f"{topic}-{partition}": (each.offset, each.metadata)
            for (topic, partition), each in state.offsets.of_group(group_id).items()
        }
        if group_id == "gone":  # it was deleted afterwards
            assert found == {}
            continue
        assert found == {
            place: (each["offset"], each["metadata"]) for place, each in offsets.items()
        }


class GoldenPartition:
    """Reads a few batches at a time."""

    log_start_offset = 0

    def __init__(self, case: str) -> None:
        self.view = self  # it has no parts
        self._batches = list(batches(case))
        self.log_end_offset = self._batches[-1][0].next_offset

    def read(self, offset: int, *_: object, **__: object) -> SimpleNamespace:
        behind = [
            batch for header, batch in self._batches if header.next_offset > offset
        ]
        return SimpleNamespace(records=b"".join(behind[:3]))


@pytest.mark.parametrize("case", CASES)
async def test_the_loader_makes_the_same_of_it(case: str) -> None:
    """Batches at once, transactions record by record, and markers."""
    state, expected = Groups().state, load(case)
    partition: Any = GoldenPartition(case)
    await Loader(partition, state, cast("Any", None), 1).load()
    state.on_loaded()
    assert state.offsets._committed == expected.offsets._committed
    assert state.offsets._pending == expected.offsets._pending
    assert {name: group.state for name, group in state.groups.items()} == {
        name: group.state for name, group in expected.groups.items()
    }
    assert len(state.offsets) > 0


def test_t151_a_group_that_kafka_kept_is_there() -> None:
    state = load("consumer-offsets")
    group = state.groups["classic"]
    assert group.state is ClassicState.STABLE
    assert group.generation_id == 1
    assert group.protocol_name == "range"
    (member,) = group.members.values()
    assert group.is_leader(member.member_id)
    assert group.static_members == {"static-1": member.member_id}
    assert member.session_timeout_ms == 45_000
    assert member.rebalance_timeout_ms == 300_000
    assert member.assignment
    assert "gone" not in state.groups
    assert state.groups["simple"].state is ClassicState.EMPTY


def test_g013_a_consumer_group_that_kafka_kept_is_there() -> None:
    state = load("consumer-offsets")
    group = state.consumer_groups["kip848"]
    assert group.state is ConsumerState.STABLE
    assert group.subscribed_topics() == {"src"}
    (member,) = group.members.values()
    (topic_id,) = member.holding.assigned
    assert set(member.holding.assigned[topic_id]) == {0, 1}
    assert group.target_of(member.member_id) == {topic_id: {0, 1}}
    assert member.holding.epoch == group.assignment_epoch == group.epoch
    assert state.offsets.of_group("kip848")
    assert "kip848" not in state.groups


def test_an_offset_that_says_when_it_expires_is_of_version_1() -> None:
    committed = CommittedOffset(7, -1, "m", 1000, 2000)
    key, value = OffsetRecord("g", "t", 1, committed).encode()
    assert value is not None
    assert value[:2] == b"\0\1"
    assert decode(key, value) == OffsetRecord("g", "t", 1, committed)


@pytest.mark.parametrize(
    "record", [OffsetRecord("g", "t", 1, None), GroupRecord("g", None)]
)
def test_tombstones(record: OffsetRecord | GroupRecord) -> None:
    key, value = record.encode()
    assert value is None
    assert decode(key, value) == record


def test_other_kinds_are_passed_over() -> None:
    assert decode(b"\0\x12\0\1g", b"\0\0") is None, "of a kind that was given up"
    assert decode(b"\7\7", None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (b"\0\1\0\5g", None),
        (b"\0\2\0\1g", b"\0"),
        (b"\0\2\0\1g", b"\0\x63"),
        (b"\0\2\0\1g", b"\0\3\0"),
    ],
)
def test_damaged_records_are_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        decode(key, value)


_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_int64 = st.integers(-(1 << 63), (1 << 63) - 1)
_int32 = st.integers(-(1 << 31), (1 << 31) - 1)
_offsets = st.builds(
    CommittedOffset,
    _int64,
    _int32,
    st.just("") | _names,
    _int64,
    st.just(-1) | _int64,
    st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
)


@given(_names, _names, _int32, _offsets, st.sampled_from([0, 1, 2, 3, 4, None]))
def test_offsets_packed_by_hand_are_those_of_the_messages(
    group: str,
    topic: str,
    partition: int,
    committed: CommittedOffset,
    version: int | None,
) -> None:
    """Written as messages write; read, whatever version messages have written."""
    key = b"\0\1" + OffsetCommitKey(
        group=group, topic=topic, partition=partition
    ).encode(0)
    value = OffsetCommitValue(**committed._asdict())
    if version is None:
        record = OffsetRecord(group, topic, partition, committed)
        version = 4 if committed.expire_timestamp == -1 else 1
        expected = version.to_bytes(2, "big") + value.encode(version)
        assert record.encode() == (key, expected)
    data = value.encode(version)
    known = OffsetCommitValue.decode(data, version)
    again = CommittedOffset(
        known.offset,
        known.leader_epoch,
        known.metadata,
        known.commit_timestamp,
        known.expire_timestamp,
        known.topic_id,
    )
    found = decode(key, version.to_bytes(2, "big") + data)
    assert found == OffsetRecord(group, topic, partition, again)


@given(_names, _names, _int32, _offsets, st.data())
def test_offsets_cut_short_are_refused(
    group: str,
    topic: str,
    partition: int,
    committed: CommittedOffset,
    data: st.DataObject,
) -> None:
    record = OffsetRecord(group, topic, partition, committed)
    key, value = record.encode()
    size = data.draw(st.integers(2, len(key) - 1))
    with pytest.raises(InvalidRecord):
        decode(key[:size], value)
