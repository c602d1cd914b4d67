from odradek.broker.coordinator.group.state.share.group import ShareGroup, ShareState
from odradek.broker.coordinator.group.state.share.member import (
    ShareHolding,
    ShareMemberInfo,
)

T = b"t".ljust(16)


def reads(*names: str) -> ShareMemberInfo:
    return ShareMemberInfo(topic_names=names)


def test_its_states() -> None:
    group = ShareGroup("g")
    assert group.state is ShareState.EMPTY
    assert group.is_empty
    group.put_info("m", reads("t"))
    assert group.state is ShareState.STABLE
    group.remove("m")
    assert group.state is ShareState.EMPTY
    group.is_gone = True
    assert group.state is ShareState.DEAD
    assert repr(group) == "ShareGroup('g', Dead, epoch 0, 0 members)"


def test_it_knows_what_is_subscribed_to() -> None:
    group = ShareGroup("g")
    group.put_info("a", reads("t", "u"))
    group.put_info("b", reads("u"))
    assert group.subscribed_topics() == {"t", "u"}
    group.put_info("a", reads("v"))
    assert group.subscribed_topics() == {"u", "v"}
    group.remove("a")
    group.remove("a")
    assert group.subscribed_topics() == {"u"}


def test_what_a_member_has() -> None:
    group = ShareGroup("g")
    holding = ShareHolding(3, 2, {T: frozenset({1})})
    group.put_holding("m", holding)
    assert group.members["m"].holding == holding
    assert group.target_of("m") == {}
    group.targets["m"] = {T: frozenset({1})}
    assert group.target_of("m") == {T: frozenset({1})}
    assert group.protocol_type == "share"
