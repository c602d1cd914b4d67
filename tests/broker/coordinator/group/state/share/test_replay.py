from odradek.broker.coordinator.group.state.consumer.records import (
    GroupEpoch,
    TargetEpoch,
)
from odradek.broker.coordinator.group.state.share.group import ShareGroup
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
from odradek.broker.coordinator.group.state.share.replay import replay_share
from odradek.broker.coordinator.group.state.share.states import States, TopicStates

T = b"t".ljust(16)
HAD = {T: frozenset({0})}
STATES = States(initialized={T: TopicStates("t", frozenset({0}))})


def replayed(*records: ShareRecord) -> dict[str, ShareGroup]:
    groups: dict[str, ShareGroup] = {}
    for record in records:
        replay_share(groups, record)
    return groups


def of(key: int, name: str = "", value: object = None) -> ShareRecord:
    return ShareRecord(key, "g", name, value)


def test_a_group_is_what_its_records_say() -> None:
    group = replayed(
        of(MEMBER_KEY, "m", ShareMemberInfo(topic_names=("t",))),
        of(EPOCH_KEY, value=GroupEpoch(3, 9)),
        of(STATES_KEY, value=STATES),
        of(TARGET_KEY, "m", HAD),
        of(TARGET_EPOCH_KEY, value=TargetEpoch(3, 77)),
        of(HOLDING_KEY, "m", ShareHolding(3, 2, HAD)),
    )["g"]
    assert (group.epoch, group.metadata_hash) == (3, 9)
    assert (group.assignment_epoch, group.assignment_time_ms) == (3, 77)
    assert group.states == STATES
    assert group.target_of("m") == HAD
    assert group.members["m"].holding.assigned == HAD
    assert group.members["m"].info.topic_names == ("t",)


def test_what_is_gone_is_gone() -> None:
    group = replayed(
        of(MEMBER_KEY, "m", ShareMemberInfo()),
        of(EPOCH_KEY, value=GroupEpoch(3, 9)),
        of(STATES_KEY, value=STATES),
        of(TARGET_KEY, "m", HAD),
        of(TARGET_EPOCH_KEY, value=TargetEpoch(3, 77)),
        of(HOLDING_KEY, "m", ShareHolding(3, 2, HAD)),
        of(HOLDING_KEY, "m"),
        of(TARGET_KEY, "m"),
        of(TARGET_KEY, "stranger"),
        of(HOLDING_KEY, "stranger"),
        of(MEMBER_KEY, "m"),
        of(MEMBER_KEY, "stranger"),
        of(STATES_KEY),
        of(TARGET_EPOCH_KEY),
    )["g"]
    assert group.is_empty
    assert not group.targets
    assert group.states.is_empty
    assert group.assignment_epoch == 0


def test_the_last_tombstone_takes_the_group() -> None:
    groups: dict[str, ShareGroup] = {}
    group = replay_share(groups, of(EPOCH_KEY, value=GroupEpoch(3, 9)))
    assert group is not None
    assert replay_share(groups, of(EPOCH_KEY)) is group
    assert group.is_gone
    assert not groups
    assert replay_share(groups, of(STATES_KEY)) is None, "of a group that is gone"
    assert not groups


def test_after_compaction_any_record_is_the_first() -> None:
    assert replayed(of(STATES_KEY, value=STATES))["g"].states == STATES
    assert replayed(of(HOLDING_KEY, "m", ShareHolding(3)))["g"].members["m"]
