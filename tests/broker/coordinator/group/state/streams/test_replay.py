from typing import Any

from odradek.broker.coordinator.group.state.consumer.records import TargetEpoch
from odradek.broker.coordinator.group.state.streams import records
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    StreamsMemberInfo,
)
from odradek.broker.coordinator.group.state.streams.records import (
    StreamsEpoch,
    StreamsRecord,
)
from odradek.broker.coordinator.group.state.streams.replay import replay_streams
from odradek.broker.coordinator.group.state.streams.tasks import Tasks
from odradek.broker.coordinator.group.state.streams.topology import Topology


class Replayed:
    def __init__(self) -> None:
        self.groups: dict[str, StreamsGroup] = {}

    def put(self, key: int, name: str = "", value: Any = None) -> StreamsGroup | None:
        return replay_streams(self.groups, StreamsRecord(key, "g", name, value))


def test_records_make_a_group_and_tombstones_end_it() -> None:
    log, target = Replayed(), Tasks({"0": frozenset({1})})
    log.put(records.MEMBER_KEY, "m", StreamsMemberInfo(client_id="c"))
    log.put(records.TOPOLOGY_KEY, value=Topology(2))
    log.put(records.EPOCH_KEY, value=StreamsEpoch(3, 9, 2, (("a", "1"),)))
    log.put(records.TARGET_KEY, "m", target)
    log.put(records.TARGET_EPOCH_KEY, value=TargetEpoch(3, 77))
    group = log.put(records.HOLDING_KEY, "m", StreamsHolding(3, 2))
    assert group is log.groups["g"]
    assert (group.epoch, group.metadata_hash, group.validated_epoch) == (3, 9, 2)
    assert (group.configs, group.topology) == ((("a", "1"),), Topology(2))
    assert (group.assignment_epoch, group.assignment_time_ms) == (3, 77)
    assert group.target_of("m") == target
    assert group.members["m"].holding == StreamsHolding(3, 2)
    log.put(records.HOLDING_KEY, "m")
    assert group.members["m"].holding.epoch == -1
    log.put(records.TARGET_KEY, "m")
    assert group.target_of("m") == Tasks()
    log.put(records.MEMBER_KEY, "m")
    assert group.is_empty
    log.put(records.TARGET_EPOCH_KEY)
    assert group.assignment_epoch == -1
    log.put(records.EPOCH_KEY)
    assert group.is_gone
    assert log.put(records.TOPOLOGY_KEY) is None
    assert not log.groups


def test_a_tombstone_of_what_was_never_there_makes_nothing() -> None:
    log = Replayed()
    assert log.put(records.HOLDING_KEY, "m") is None
    assert not log.groups
    log.put(records.TOPOLOGY_KEY, value=Topology(0))
    group = log.put(records.HOLDING_KEY, "m")
    assert group is not None
    assert group.is_empty
