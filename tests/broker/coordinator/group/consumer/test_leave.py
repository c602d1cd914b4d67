from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups


def test_what_it_had_goes_to_others() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.settle()
    answer = groups.beat_as("a", -1)
    assert (answer.member_id, answer.member_epoch) == ("a", -1)
    assert groups.consumer_group.epoch == 4
    assert groups.told(groups.beat_as("b")) == {"t": [0, 1]}


def test_the_last_one_leaves_an_empty_group() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    groups.beat_as("a", -1)
    group = groups.consumer_group
    assert (group.state, group.epoch) == (ConsumerState.EMPTY, 3)
    assert not group.targets
    assert len(groups.fake.timers) == 0


def test_who_has_left_for_a_while_has_nothing_to_give_up() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    groups.join("b")
    groups.beat_as("a", instance="i")
    groups.beat_as("a", -2, instance="i")
    holding = groups.member("a").holding
    assert (holding.epoch, holding.pending) == (-2, {})
    assert set(holding.assigned[groups.id_of("t")].values()) == {0}
    assert groups.told(groups.beat_as("b")) == {"t": [1]}, "it is free now"


def test_who_is_not_there_cannot_leave() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    codes = []
    for fields in (
        {"member_id": "b", "epoch": -1},
        {"member_id": "b", "epoch": -2, "instance": "i"},
        {"member_id": "a", "epoch": -2, "instance": "j"},
        {"member_id": "a", "epoch": -1, "group_id": "other"},
    ):
        answer = groups.beat_as(**fields)
        assert isinstance(answer, KafkaError)
        codes.append(answer.code)
    assert codes == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]
