import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.group.state import records
from odradek.broker.coordinator.group.state.consumer.records import (
    GroupEpoch,
    TargetEpoch,
)
from odradek.broker.coordinator.group.state.share.member import (
    ShareHolding,
    ShareMemberInfo,
)
from odradek.broker.coordinator.group.state.share.records import (
    EPOCH_KEY,
    HOLDING_KEY,
    MEMBER_KEY,
    STATES_KEY,
    TARGET_EPOCH_KEY,
    TARGET_KEY,
    ShareRecord,
)
from odradek.broker.coordinator.group.state.share.states import States, TopicStates
from odradek.protocol.errors import InvalidRecord

_names = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_int32 = st.integers(-(1 << 31), (1 << 31) - 1)
_int64 = st.integers(-(1 << 63), (1 << 63) - 1)
_ids = st.binary(min_size=16, max_size=16)
_numbers = st.frozensets(st.integers(0, 1000), min_size=1)
_partitions = st.dictionaries(_ids, _numbers, max_size=3)
_topics = st.dictionaries(_ids, st.builds(TopicStates, _names, _numbers), max_size=3)
_infos = st.builds(
    ShareMemberInfo,
    st.none() | _names.filter(bool),
    _names,
    _names,
    st.sets(_names, max_size=3).map(lambda found: tuple(sorted(found))),
)
_records = st.one_of(
    st.builds(ShareRecord, st.just(MEMBER_KEY), _names, _names, st.none() | _infos),
    st.builds(
        ShareRecord,
        st.just(EPOCH_KEY),
        _names,
        st.just(""),
        st.none() | st.builds(GroupEpoch, _int32, _int64),
    ),
    st.builds(
        ShareRecord,
        st.just(TARGET_EPOCH_KEY),
        _names,
        st.just(""),
        st.none() | st.builds(TargetEpoch, _int32, _int64),
    ),
    st.builds(
        ShareRecord, st.just(TARGET_KEY), _names, _names, st.none() | _partitions
    ),
    st.builds(
        ShareRecord,
        st.just(HOLDING_KEY),
        _names,
        _names,
        st.none() | st.builds(ShareHolding, _int32, _int32, _partitions),
    ),
    st.builds(
        ShareRecord,
        st.just(STATES_KEY),
        _names,
        st.just(""),
        st.none()
        | st.builds(
            States, _topics, _topics, st.dictionaries(_ids, _names, max_size=2)
        ),
    ),
)


@given(record=_records)
def test_a_record_comes_out_as_it_went_in(record: ShareRecord) -> None:
    assert records.decode(*record.encode()) == record


@given(record=_records, size=st.integers(0, 20))
def test_what_is_cut_is_no_record(record: ShareRecord, size: int) -> None:
    key, value = record.encode()
    if value is None or size >= len(value):
        return
    with pytest.raises(InvalidRecord):
        records.decode(key, value[:size])


def test_states_byte_by_byte() -> None:
    topic_id = bytes(range(16))
    states = States(
        {}, {topic_id: TopicStates("t", frozenset({1, 0}))}, {topic_id: "t"}
    )
    key, value = ShareRecord(STATES_KEY, "g", value=states).encode()
    assert key.hex(" ") == "00 0f 00 01 67"
    assert value is not None
    topic = topic_id.hex(" ") + " 02 74 "
    numbers = "03 00 00 00 00 00 00 00 01 00"
    assert value.hex(" ") == f"00 00 01 02 {topic}{numbers} 02 {topic}00 00"


def test_a_value_of_another_version_is_passed_over() -> None:
    key, value = ShareRecord(EPOCH_KEY, "g", value=GroupEpoch(1, 2)).encode()
    assert value is not None
    assert records.decode(key, b"\x00\x01" + value[2:]) is None
