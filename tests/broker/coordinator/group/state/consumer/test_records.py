import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.group.state import records
from odradek.broker.coordinator.group.state.consumer.group import ResolvedPattern
from odradek.broker.coordinator.group.state.consumer.member import (
    ClassicPart,
    Holding,
    HoldingState,
    MemberInfo,
)
from odradek.broker.coordinator.group.state.consumer.records import (
    EPOCH_KEY,
    HOLDING_KEY,
    MEMBER_KEY,
    OLD_TOPICS_KEY,
    PATTERN_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    ConsumerRecord,
    GroupEpoch,
    OldTopics,
    TargetEpoch,
)
from odradek.protocol.errors import InvalidRecord
from odradek.protocol.group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupPartitionMetadataValue,
    CurrentPartitions,
)

T = bytes(range(16))
_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_some = st.none() | _names.filter(bool)
_int32 = st.integers(-(1 << 31), (1 << 31) - 1)
_int64 = st.integers(-(1 << 63), (1 << 63) - 1)
_ids = st.binary(min_size=16, max_size=16)
_numbers = st.integers(0, 1000)
_partitions = st.dictionaries(_ids, st.frozensets(_numbers, min_size=1), max_size=3)
_held = st.dictionaries(
    _ids, st.dictionaries(_numbers, _int32, min_size=1, max_size=3), max_size=3
)
_infos = st.builds(
    MemberInfo,
    _some,
    _some,
    _names,
    _names,
    st.sets(_names, max_size=3).map(lambda found: tuple(sorted(found))),
    _names,
    _int32,
    _some,
    st.none()
    | st.builds(
        ClassicPart,
        _int32,
        st.lists(st.tuples(_names, st.binary(max_size=9)), max_size=2).map(tuple),
    ),
)
_values = {
    EPOCH_KEY: st.builds(GroupEpoch, _int32, _int64),
    MEMBER_KEY: _infos,
    TARGET_EPOCH_KEY: st.builds(TargetEpoch, _int32, _int64),
    TARGET_KEY: _partitions,
    HOLDING_KEY: st.builds(
        Holding, _int32, _int32, st.sampled_from(HoldingState), _held, _held
    ),
    PATTERN_KEY: st.builds(
        ResolvedPattern, st.frozensets(_names, max_size=3), _int64, _int64
    ),
}
_OF_GROUP = (EPOCH_KEY, TARGET_EPOCH_KEY)


@st.composite
def consumer_records(draw: st.DrawFn) -> ConsumerRecord:
    key = draw(st.sampled_from(sorted(_values)))
    name = "" if key in _OF_GROUP else draw(_names)
    return ConsumerRecord(key, draw(_names), name, draw(st.none() | _values[key]))


@given(consumer_records())
def test_what_is_written_is_read_again(record: ConsumerRecord) -> None:
    assert records.decode(*record.encode()) == record


def test_the_topics_of_brokers_before_41_are_only_known_to_be_there() -> None:
    key, _ = ConsumerRecord(OLD_TOPICS_KEY, "g").encode()
    value = b"\0\0" + ConsumerGroupPartitionMetadataValue(topics=[]).encode(0)
    assert records.decode(key, value) == ConsumerRecord(
        OLD_TOPICS_KEY, "g", "", OldTopics()
    )


def test_partitions_without_epochs_are_had_since_the_member_s() -> None:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=7,
        previous_member_epoch=6,
        state=3,
        assigned_partitions=[CurrentPartitions(topic_id=T, partitions=[0, 1])],
    )
    key, _ = ConsumerRecord(HOLDING_KEY, "g", "m").encode()
    record = records.decode(key, b"\0\0" + value.encode(0))
    assert isinstance(record, ConsumerRecord)
    assert record.value == Holding(7, 6, HoldingState.UNKNOWN, {T: {0: 7, 1: 7}})


def test_newer_values_are_passed_over() -> None:
    key, value = ConsumerRecord(EPOCH_KEY, "g", "", GroupEpoch(1, 2)).encode()
    assert value is not None
    assert records.decode(key, b"\0\1" + value[2:]) is None


@pytest.mark.parametrize("cut", range(1, 6))
def test_damaged_ones_are_refused(cut: int) -> None:
    key, value = ConsumerRecord(EPOCH_KEY, "g", "", GroupEpoch(1, 2)).encode()
    assert value is not None
    with pytest.raises(InvalidRecord):
        records.decode(key, value[:-cut])
