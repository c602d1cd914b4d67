from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    StreamsMember,
    TaskState,
)


def test_who_has_all_of_its_target_has_settled() -> None:
    member = StreamsMember("m", holding=StreamsHolding(5, 4, TaskState.STABLE))
    assert member.has_settled(5)
    assert not member.has_settled(6)
    member.holding = StreamsHolding(5, 4, TaskState.UNRELEASED)
    assert not member.has_settled(5)
