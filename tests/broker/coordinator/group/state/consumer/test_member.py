from odradek.broker.coordinator.group.state.consumer.member import (
    ClassicPart,
    ConsumerMember,
    Holding,
    HoldingState,
    MemberInfo,
    partitions_of,
)


def test_what_people_are_told_that_it_is() -> None:
    assert ConsumerMember("m").label == "m"
    static = ConsumerMember("m", MemberInfo(instance_id="i"))
    assert static.label == "static member i (m)"


def test_who_speaks_the_classic_protocol() -> None:
    assert not ConsumerMember("m").is_classic
    classic = MemberInfo(classic=ClassicPart(1, (("range", b""),)))
    assert ConsumerMember("m", classic).is_classic


def test_who_has_settled_is_stable_in_the_epoch() -> None:
    member = ConsumerMember("m", holding=Holding(3))
    assert member.has_settled(3)
    assert not member.has_settled(4)
    member.holding = Holding(3, state=HoldingState.UNRELEASED)
    assert not member.has_settled(3)


def test_partitions_without_their_epochs() -> None:
    assert partitions_of({b"t": {0: 4, 2: 5}}) == {b"t": {0, 2}}
