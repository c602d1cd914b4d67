import pytest

from odradek.broker.coordinator.group.state.consumer.records import TargetEpoch
from odradek.broker.coordinator.group.state.records import decode
from odradek.broker.coordinator.group.state.streams import records
from odradek.broker.coordinator.group.state.streams.member import (
    Endpoint,
    StreamsHolding,
    StreamsMemberInfo,
    TaskState,
)
from odradek.broker.coordinator.group.state.streams.records import (
    StreamsEpoch,
    StreamsRecord,
)
from odradek.broker.coordinator.group.state.streams.tasks import HeldTasks, Tasks
from odradek.broker.coordinator.group.state.streams.topology import (
    Subtopology,
    Topology,
)
from odradek.protocol.streams_records import (
    CurrentTasks,
    StreamsGroupCurrentMemberAssignmentValue,
)

SOME = {"0": frozenset({1, 2}), "1": frozenset({0})}
HELD = HeldTasks({"0": {1: 5, 2: 7}}, SOME, {"1": frozenset({3})})
RECORDS = (
    StreamsRecord(
        records.EPOCH_KEY, "g", "", StreamsEpoch(4, -9, 0, (("a", "1"), ("b", "2")))
    ),
    StreamsRecord(records.EPOCH_KEY, "g", "", StreamsEpoch(4, 0, -1, ())),
    StreamsRecord(
        records.MEMBER_KEY,
        "g",
        "m",
        StreamsMemberInfo(
            None, "r", "c", "/h", 5, 2, "p", Endpoint("h", 9), (("k", "v"),)
        ),
    ),
    StreamsRecord(records.MEMBER_KEY, "g", "m", StreamsMemberInfo()),
    StreamsRecord(records.TARGET_EPOCH_KEY, "g", "", TargetEpoch(3, 77)),
    StreamsRecord(records.TARGET_KEY, "g", "m", Tasks(SOME, {}, SOME)),
    StreamsRecord(
        records.HOLDING_KEY,
        "g",
        "m",
        StreamsHolding(4, 3, TaskState.UNREVOKED, HELD, HELD),
    ),
    StreamsRecord(
        records.TOPOLOGY_KEY, "g", "", Topology(3, (Subtopology("0", ("t",)),))
    ),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: str(each.key))
def test_there_and_back(record: StreamsRecord) -> None:
    key, value = record.encode()
    assert key[:2] == bytes([0, record.key])
    assert decode(key, value) == record
    assert decode(key, None) == record._replace(value=None)


def test_a_state_of_later_times_is_unknown() -> None:
    record = StreamsRecord(records.HOLDING_KEY, "g", "m", StreamsHolding(state=9))
    found = decode(*record.encode())
    assert isinstance(found, StreamsRecord)
    assert found.value.state is TaskState.UNKNOWN


def test_tasks_without_epochs_are_had_since_that_of_the_member() -> None:
    key, _ = StreamsRecord(records.HOLDING_KEY, "g", "m").encode()
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=6,
        state=1,
        active_tasks=[
            CurrentTasks(subtopology_id="0", partitions=[1]),
            CurrentTasks(subtopology_id="1"),
        ],
    )
    found = decode(key, b"\0\0" + value.encode(0))
    assert isinstance(found, StreamsRecord)
    assert found.value.assigned == HeldTasks({"0": {1: 6}})
