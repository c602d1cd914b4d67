import pytest

from odradek.broker.coordinator.group.state.share.group import ShareState
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def code_of(answer: object) -> int:
    assert isinstance(answer, KafkaError), answer
    return answer.code


def test_the_first_answer_is_the_assignment() -> None:
    groups = ShareGroups(t=3)
    answer = groups.join("a")
    assert (answer.member_id, answer.member_epoch) == ("a", 3)
    assert answer.heartbeat_interval_ms == 5000
    assert groups.told(answer) == {"t": [0, 1, 2]}
    assert groups.share_group.state is ShareState.STABLE


def test_a_second_member_has_its_part_at_once() -> None:
    groups = ShareGroups(t=4)
    groups.join("a")
    second = groups.join("b")
    assert (second.member_epoch, groups.told(second)) == (4, {"t": [2, 3]})
    first = groups.beat_as("a")
    assert (first.member_epoch, groups.told(first)) == (4, {"t": [0, 1]})
    assert groups.beat_as("a").assignment is None, "it was told before"


def test_members_share_one_partition() -> None:
    groups = ShareGroups(t=1)
    for name in "abc":
        assert groups.told(groups.join(name)) == {"t": [0]}


def test_an_idle_heartbeat_writes_nothing() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    before = list(groups.fake.log)
    answer = groups.beat_as("a")
    assert (answer.member_epoch, answer.assignment) == (3, None)
    assert groups.fake.log == before


def test_records_come_in_the_order_of_apache_kafka() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    assert groups.kinds() == [10, 11, 15, 15, 11, 13, 12, 14]
    before = len(groups.fake.log)
    groups.beat_as("a", -1)
    assert groups.kinds(before) == [14, 13, 10, 11]


class TestEpochs:
    def test_one_behind_is_a_lost_answer(self) -> None:
        groups = ShareGroups(t=2)
        groups.join("a")
        groups.join("b")
        assert groups.beat_as("a").member_epoch == 4
        again = groups.beat_as("a", 3, ["t"])
        assert (again.member_epoch, groups.told(again)) == (4, {"t": [0]})

    @pytest.mark.parametrize(("epoch", "word"), [(9, "greater"), (1, "smaller")])
    def test_any_other_is_fenced(self, epoch: int, word: str) -> None:
        groups = ShareGroups(t=2)
        groups.join("a")
        groups.join("b")
        groups.beat_as("a")
        answer = groups.beat_as("a", epoch)
        assert code_of(answer) == ErrorCode.FENCED_MEMBER_EPOCH
        assert f"a {word} member epoch ({epoch})" in str(answer)

    def test_who_joins_again_is_told_again(self) -> None:
        groups = ShareGroups(t=2)
        groups.join("a")
        before = list(groups.fake.log)
        again = groups.join("a")
        assert (again.member_epoch, groups.told(again)) == (3, {"t": [0, 1]})
        assert groups.fake.log == before


class TestWhoIsRefused:
    def test_strangers(self) -> None:
        groups = ShareGroups(t=1)
        assert code_of(groups.beat_as("a", 3)) == ErrorCode.GROUP_ID_NOT_FOUND
        assert code_of(groups.beat_as("a", -1)) == ErrorCode.GROUP_ID_NOT_FOUND
        groups.join("a")
        assert code_of(groups.beat_as("b", 3)) == ErrorCode.UNKNOWN_MEMBER_ID
        assert code_of(groups.beat_as("b", -1)) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_one_more_than_the_group_takes(self) -> None:
        groups = ShareGroups({"group_share_max_size": 2}, t=1)
        groups.join("a")
        groups.join("b")
        assert code_of(groups.join("c")) == ErrorCode.GROUP_MAX_SIZE_REACHED
        assert groups.join("a").error_code == 0, "it is a member"

    def test_who_joins_a_classic_group_even_an_empty_one(self) -> None:
        groups = ShareGroups(t=1)
        groups.state.get_or_create(GROUP)
        answer = groups.join("a")
        assert code_of(answer) == ErrorCode.GROUP_ID_NOT_FOUND
        assert str(answer) == f"Group {GROUP} is not a share group."

    def test_nothing_is_written_of_them(self) -> None:
        groups = ShareGroups(t=1)
        groups.beat_as("a", 3)
        groups.state.get_or_create("other")
        groups.join("a", group_id="other")
        assert not groups.fake.log
        assert not groups.state.share_groups


class TestTopics:
    def test_one_that_is_made_later_is_assigned_at_the_next_heartbeat(self) -> None:
        groups = ShareGroups()
        assert groups.told(groups.join("a")) == {}
        groups.topics.put("t", 2)
        assert groups.told(groups.beat_as("a")) == {"t": [0, 1]}
        groups.topics.put("t", 3)
        assert groups.told(groups.beat_as("a")) == {"t": [0, 1, 2]}

    def test_one_that_is_deleted_is_taken_away(self) -> None:
        groups = ShareGroups(t=1, u=1)
        groups.join("a", ["t", "u"])
        groups.topics.remove("u")
        assert groups.told(groups.beat_as("a")) == {"t": [0]}

    def test_another_subscription_holds_at_once(self) -> None:
        groups = ShareGroups(t=1, u=1)
        groups.join("a")
        assert groups.told(groups.beat_as("a", names=["u"])) == {"u": [0]}

    def test_what_is_not_read_any_more_goes_however_soon_that_is(self) -> None:
        groups = ShareGroups(t=1, u=1)
        groups.join("a", ["t", "u"])
        groups.options[GROUP] = {"share.assignment.interval.ms": "1000"}
        assert groups.told(groups.beat_as("a", names=["t"])) == {"t": [0]}

    def test_between_two_assignments_is_some_time(self) -> None:
        groups = ShareGroups(t=2)
        groups.options[GROUP] = {"share.assignment.interval.ms": "1000"}
        groups.join("a")
        groups.clock.advance(100)
        second = groups.join("b")
        assert (second.member_epoch, groups.told(second)) == (3, {})
        assert second.heartbeat_interval_ms == 900, "it is to come again then"
        groups.clock.advance(second.heartbeat_interval_ms)
        second = groups.beat_as("b")
        assert (second.member_epoch, groups.told(second)) == (4, {"t": [1]})
        assert second.heartbeat_interval_ms == 5000


def test_a_restart_goes_on() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    groups.reload()
    before = list(groups.fake.log)
    for name in "ab":
        assert groups.beat_as(name).assignment is None
    assert groups.fake.log == before
    assert groups.has("a") == {"t": [0]}


def test_what_apache_kafka_has_begun_and_not_assigned_is_assigned() -> None:
    """It writes in two heartbeats what is one here, and may stop in between."""
    groups = ShareGroups(t=1)
    groups.join("a")
    known = len(groups.fake.log)
    groups.join("b", ["u"])
    groups.topics.put("u", 1)
    groups.states.is_slow = True
    groups.beat_as("b")
    begun = groups.share_group.states.initializing
    assert begun
    groups.states.answer_now()
    groups.clock.advance(0)
    # As it would be without the epoch and all that follows it.
    last = max(i for i, kind in enumerate(groups.kinds()) if kind == 15)
    assert last > known
    del groups.fake.log[last + 1 :]
    groups.states.is_slow = False
    groups.reload()
    assert groups.told(groups.beat_as("b")) == {"u": [0]}
