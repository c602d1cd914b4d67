import pytest

from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.broker.coordinator.group.state.consumer.member import HoldingState
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def code_of(answer: object) -> int:
    assert isinstance(answer, KafkaError), answer
    return answer.code


def test_the_first_member_gets_everything_at_once() -> None:
    groups = ConsumerGroups(t=3)
    answer = groups.join("a")
    assert (answer.member_id, answer.member_epoch) == ("a", 2)
    assert answer.heartbeat_interval_ms == 5000
    assert groups.told(answer) == {"t": [0, 1, 2]}
    assert groups.consumer_group.state is ConsumerState.STABLE


def test_a_second_member_waits_for_what_the_first_gives_up() -> None:
    groups = ConsumerGroups(t=4)
    groups.join("a")
    second = groups.join("b")
    assert (second.member_epoch, groups.told(second)) == (3, {})
    assert groups.consumer_group.state is ConsumerState.RECONCILING
    first = groups.beat_as("a")
    assert (first.member_epoch, groups.told(first)) == (2, {"t": [0, 1]})
    assert groups.beat_as("a").assignment is None, "it was told before"
    assert groups.told(groups.beat_as("b")) is None, "nothing is free yet"
    freed = groups.beat_as("a", owned={"t": [0, 1]})
    assert (freed.member_epoch, freed.assignment) == (3, None)
    assert groups.told(groups.beat_as("b")) == {"t": [2, 3]}
    assert groups.consumer_group.state is ConsumerState.STABLE


def test_an_idle_heartbeat_writes_nothing() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    before = list(groups.fake.log)
    answer = groups.beat_as("a")
    assert (answer.member_epoch, answer.assignment) == (2, None)
    assert groups.fake.log == before


def test_records_come_in_the_order_of_apache_kafka() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    kinds = [key[1] for key, _ in groups.fake.log]
    assert kinds == [5, 3, 7, 6, 8]
    groups.beat_as("a", -1)
    assert [key[1] for key, _ in groups.fake.log[5:]] == [8, 7, 5, 3]


class TestEpochs:
    def test_one_behind_is_a_lost_answer(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a")
        groups.topics.put("t", 3)
        assert groups.beat_as("a", owned={"t": [0, 1]}).member_epoch == 3
        assert groups.beat_as("a", 2, owned={"t": [0]}).member_epoch == 3

    @pytest.mark.parametrize("owned", [None, {"t": [0, 1, 2]}])
    def test_unless_it_has_what_it_was_not_given(self, owned: object) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a")
        groups.join("b")
        groups.settle()
        answer = groups.beat_as("a", 2, owned=owned)  # type: ignore[arg-type]
        assert code_of(answer) == ErrorCode.FENCED_MEMBER_EPOCH
        assert "smaller member epoch (2)" in str(answer)

    def test_ahead(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a")
        answer = groups.beat_as("a", 9)
        assert code_of(answer) == ErrorCode.FENCED_MEMBER_EPOCH
        assert "greater member epoch (9)" in str(answer)

    def test_joining_again_keeps_what_it_had(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a")
        groups.topics.put("t", 3)
        groups.beat_as("a")
        answer = groups.join("a")
        assert (answer.member_epoch, groups.told(answer)) == (3, {"t": [0, 1, 2]})

    def test_who_is_no_member_cannot_be_in_one(self) -> None:
        groups = ConsumerGroups(t=1)
        groups.join("a")
        assert code_of(groups.beat_as("b", 2)) == ErrorCode.UNKNOWN_MEMBER_ID
        unknown = groups.beat_as("b", 2, group_id="other")
        assert code_of(unknown) == ErrorCode.GROUP_ID_NOT_FOUND


class TestSubscription:
    def test_other_topics_begin_another_epoch(self) -> None:
        groups = ConsumerGroups(t=1, u=1)
        groups.join("a")
        answer = groups.beat_as("a", names=["u"], owned={"t": [0]})
        assert (answer.member_epoch, groups.told(answer)) == (2, {})
        answer = groups.beat_as("a", owned={})
        assert (answer.member_epoch, groups.told(answer)) == (3, {"u": [0]})

    def test_the_same_topics_in_another_order_do_not(self) -> None:
        groups = ConsumerGroups(t=1, u=1)
        groups.join("a", names=["t", "u"])
        assert groups.beat_as("a", names=["u", "t", "t"]).member_epoch == 2

    def test_nor_does_what_has_no_bearing_on_it(self) -> None:
        groups = ConsumerGroups(t=1)
        groups.join("a")
        assert groups.beat_as("a", rack_id="r").member_epoch == 2
        assert groups.member("a").info.rack_id == "r"

    def test_g008_a_topic_grows_and_is_deleted(self) -> None:
        groups = ConsumerGroups(t=1)
        groups.join("a")
        groups.topics.put("other", 5)
        assert groups.beat_as("a").member_epoch == 2, "it is not read"
        groups.topics.put("t", 2)
        assert groups.told(groups.beat_as("a")) == {"t": [0, 1]}
        groups.topics.remove("t")
        answer = groups.beat_as("a")
        assert (answer.member_epoch, groups.told(answer)) == (3, {})
        assert groups.beat_as("a", owned={}).member_epoch == 4

    def test_a_topic_that_is_not_there_is_read_when_it_is(self) -> None:
        groups = ConsumerGroups()
        assert groups.told(groups.join("a")) == {}
        groups.topics.put("t", 1)
        assert groups.told(groups.beat_as("a")) == {"t": [0]}

    def test_names_that_cannot_be_match_nothing(self) -> None:
        groups = ConsumerGroups(t=1)
        assert groups.told(groups.join("a", names=["", "a/b"])) == {}


class TestStatic:
    def test_its_instance_id_is_its_own(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a", instance="i")
        for member_id in ("b", "a"):
            answer = groups.join(member_id, instance="i")
            assert code_of(answer) == ErrorCode.UNRELEASED_INSTANCE_ID
        answer = groups.beat_as("b", 2, instance="i")
        assert code_of(answer) == ErrorCode.FENCED_INSTANCE_ID
        answer = groups.beat_as("a", 2, instance="j")
        assert code_of(answer) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_it_comes_back_to_what_it_had(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a", instance="i")
        groups.join("b")
        groups.settle()
        had, epoch = groups.has("a"), groups.consumer_group.epoch
        assert groups.beat_as("a", -2, instance="i").member_epoch == -2
        assert groups.has("a") == had
        assert groups.consumer_group.state is ConsumerState.RECONCILING
        answer = groups.join("c", instance="i")
        assert (answer.member_epoch, groups.told(answer)) == (epoch, had)
        assert set(groups.consumer_group.members) == {"b", "c"}
        assert groups.consumer_group.epoch == epoch
        assert groups.consumer_group.state is ConsumerState.STABLE
        answer = groups.beat_as("a", epoch, instance="i")
        assert code_of(answer) == ErrorCode.FENCED_INSTANCE_ID

    def test_who_has_left_for_a_while_is_not_there(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a", instance="i")
        groups.beat_as("a", -2, instance="i")
        answer = groups.beat_as("a", 2, instance="i")
        assert code_of(answer) == ErrorCode.FENCED_MEMBER_EPOCH
        assert "(-2)" in str(answer)

    def test_it_may_come_back_under_the_same_id(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a", instance="i")
        groups.beat_as("a", -2, instance="i")
        answer = groups.join("a", instance="i")
        assert (answer.member_epoch, groups.told(answer)) == (2, {"t": [0, 1]})


def test_a_full_group_takes_nobody() -> None:
    groups = ConsumerGroups({"group_consumer_max_size": 1}, t=1)
    groups.join("a")
    assert code_of(groups.join("b")) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert groups.join("a").member_epoch == 2, "who is in may join again"


def test_g007_a_burst_of_members_is_assigned_twice() -> None:
    groups = ConsumerGroups(t=6)
    groups.options[GROUP] = {"consumer.assignment.interval.ms": "1000"}
    for name in "abcde":
        groups.join(name)
        groups.clock.advance(40)
    assert groups.consumer_group.state is ConsumerState.ASSIGNING
    groups.clock.advance(1000)
    groups.settle()
    written = [key for key, _ in groups.fake.log if key[1] == 6]
    assert len(written) == 2
    assert groups.consumer_group.state is ConsumerState.STABLE


def test_an_empty_classic_group_is_replaced() -> None:
    groups = ConsumerGroups(t=1)
    groups.commit(7)
    assert groups.state.group(GROUP) is not None
    groups.join("a")
    assert groups.state.group(GROUP) is None
    assert groups.offset() == 7, "what it has committed stays"


def test_one_with_members_is_not() -> None:
    groups = ConsumerGroups(t=1)
    super(ConsumerGroups, groups).join(client_id="classic")
    assert code_of(groups.join("a")) == ErrorCode.GROUP_ID_NOT_FOUND


def test_after_a_restart_all_is_as_before() -> None:
    groups = ConsumerGroups(t=4)
    groups.join("a")
    groups.join("b", instance="i")
    groups.beat_as("a")
    before = groups.consumer_group
    assert before.members["a"].holding.state == HoldingState.UNREVOKED
    groups.flush()
    groups.reload()
    after = groups.consumer_group
    assert after is not before
    assert after.members == before.members
    assert after.targets == before.targets
    assert (after.epoch, after.assignment_epoch) == (3, 3)
    assert after.static_members == {"i": "b"}
    assert groups.told(groups.beat_as("b")) is None, "a has it still"
    groups.settle()
    assert (groups.has("a"), groups.has("b")) == ({"t": [0, 1]}, {"t": [2, 3]})


class TestPowerCut:
    """What members were told may be forgotten, but only the last of it."""

    def test_who_was_forgotten_is_refused_and_joins_again(self) -> None:
        groups = ConsumerGroups(t=4)
        groups.join("a")
        groups.flush()
        groups.join("b")
        groups.settle()
        assert (groups.has("a"), groups.has("b")) == ({"t": [0, 1]}, {"t": [2, 3]})
        groups.fake.crash()
        groups.reload()
        assert code_of(groups.beat_as("a", 3)) == ErrorCode.FENCED_MEMBER_EPOCH
        assert code_of(groups.beat_as("b", 3)) == ErrorCode.UNKNOWN_MEMBER_ID
        assert groups.told(groups.join("a")) == {"t": [0, 1, 2, 3]}
        groups.join("b")
        groups.settle()
        assert (groups.has("a"), groups.has("b")) == ({"t": [0, 1]}, {"t": [2, 3]})

    def test_who_has_committed_since_is_known(self) -> None:
        groups = ConsumerGroups(t=4)
        groups.join("a")
        groups.commit(7, places=[("t", 0)], member_id="a", generation_id=2)
        groups.flush()  # as the commit is answered
        groups.fake.crash()
        groups.reload()
        assert groups.beat_as("a", 2).member_epoch == 2

    def test_only_who_has_an_instance_id_waits(self) -> None:
        groups = ConsumerGroups(t=2)
        groups.join("a")
        groups.join("b", instance="i")
        groups.beat_as("a", -1)
        groups.beat_as("b", -1, instance="i")
        assert groups.fake.may_be_lost == [True, False, True, False]
