from typing import Any

from odradek.broker.coordinator.group.state.consumer.group import (
    ConsumerGroup,
    ResolvedPattern,
)
from odradek.broker.coordinator.group.state.consumer.member import Holding, MemberInfo
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
from odradek.broker.coordinator.group.state.consumer.replay import replay_consumer

T = b"t" * 16


class Log:
    def __init__(self) -> None:
        self.groups: dict[str, ConsumerGroup] = {}

    def put(self, key: int, name: str = "", value: Any = None) -> ConsumerGroup | None:
        return replay_consumer(self.groups, ConsumerRecord(key, "g", name, value))


def test_each_record_has_its_place() -> None:
    log, info = Log(), MemberInfo(topic_names=("t",))
    log.put(EPOCH_KEY, value=GroupEpoch(3, 4))
    log.put(MEMBER_KEY, "m", info)
    log.put(TARGET_EPOCH_KEY, value=TargetEpoch(2, 99))
    log.put(TARGET_KEY, "m", {T: frozenset({0})})
    log.put(HOLDING_KEY, "m", Holding(2))
    group = log.put(PATTERN_KEY, "p", ResolvedPattern(frozenset({"t"}), 1, 2))
    assert group is log.groups["g"]
    assert (group.epoch, group.metadata_hash) == (3, 4)
    assert (group.assignment_epoch, group.assignment_time_ms) == (2, 99)
    member = group.members["m"]
    assert (member.info, member.holding) == (info, Holding(2))
    assert group.target_of("m") == {T: {0}}
    assert group.matched("p") == {"t"}


def test_tombstones_take_it_away() -> None:
    log = Log()
    log.put(EPOCH_KEY, value=GroupEpoch(3, 4))
    log.put(OLD_TOPICS_KEY, value=OldTopics())
    log.put(MEMBER_KEY, "m", MemberInfo())
    log.put(TARGET_KEY, "m", {T: frozenset({0})})
    log.put(HOLDING_KEY, "m", Holding(2, 1, 0, {T: {0: 1}}))
    log.put(PATTERN_KEY, "p", ResolvedPattern(frozenset({"t"}), 1, 2))
    group = log.groups["g"]
    assert group.is_described_as_before_41
    for key in (HOLDING_KEY, TARGET_KEY, MEMBER_KEY):
        log.put(key, "m")
    assert group.owner_of(T, 0) is None
    assert not group.members
    assert not group.targets
    log.put(PATTERN_KEY, "p")
    log.put(OLD_TOPICS_KEY)
    log.put(TARGET_EPOCH_KEY)
    assert not group.is_described_as_before_41
    assert (group.patterns, group.assignment_epoch) == ({}, 0)
    assert log.put(EPOCH_KEY) is group
    assert group.is_gone
    assert not log.groups


def test_a_tombstone_of_nothing_makes_nothing() -> None:
    log = Log()
    for key in (EPOCH_KEY, MEMBER_KEY, TARGET_EPOCH_KEY, TARGET_KEY, HOLDING_KEY):
        assert log.put(key, "m") is None
    assert not log.groups
    log.put(EPOCH_KEY, value=GroupEpoch(1, 1))
    log.put(HOLDING_KEY, "m")
    assert not log.groups["g"].members


def test_after_compaction_any_record_may_be_the_first() -> None:
    log = Log()
    log.put(HOLDING_KEY, "m", Holding(2, 1, 0, {T: {0: 1}}))
    log.put(MEMBER_KEY, "m", MemberInfo(instance_id="i"))
    group = log.groups["g"]
    assert group.owner_of(T, 0) == "m"
    assert group.static_member("i") is group.members["m"]
