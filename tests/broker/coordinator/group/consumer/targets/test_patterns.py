import pytest

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.consumer.targets import patterns
from odradek.broker.coordinator.group.consumer.targets.patterns import (
    LEAST_INTERVAL_MS,
    PAUSE_MS,
    Resolving,
    check_pattern,
    wants_resolving,
)
from odradek.protocol.errors import InvalidRegularExpression
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups, Places

SLOW = LEAST_INTERVAL_MS + 1


def resolve(groups: ConsumerGroups) -> None:
    """Let the timers run that are due now."""
    for _ in range(500):
        groups.clock.advance(PAUSE_MS)


def read_by(groups: ConsumerGroups, member_id: str = "a") -> Places:
    groups.settle()
    return groups.has(member_id)


def test_g009_the_first_answer_knows_no_topic_the_next_one_all() -> None:
    groups = ConsumerGroups(t1=1, t2=2, u=1)
    first = groups.join("a", pattern="t.*")
    assert (first.member_epoch, groups.told(first)) == (1, {})
    resolve(groups)
    answer = groups.beat_as("a")
    assert (answer.member_epoch, groups.told(answer)) == (2, {"t1": [0], "t2": [0, 1]})


@pytest.mark.parametrize("pattern", ["(", "(?!x)y", r"(a)\1", "a{1001}"])
def test_g009_what_cannot_be_matched_is_refused(pattern: str) -> None:
    groups = ConsumerGroups(t=1)
    answer = groups.join("a", pattern=pattern)
    assert isinstance(answer, InvalidRegularExpression)
    assert f"SubscribedTopicRegex `{pattern}` is not a valid" in str(answer)
    assert not groups.fake.log


def test_the_whole_name_has_to_match() -> None:
    assert check_pattern("t").fullmatch("t")
    assert not check_pattern("t").fullmatch("to")


def test_g009_a_new_topic_is_read_within_ten_seconds_and_a_heartbeat() -> None:
    groups = ConsumerGroups(t1=1)
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert read_by(groups) == {"t1": [0]}
    groups.topics.put("t2", 1)
    assert read_by(groups) == {"t1": [0]}, "they were matched just now"
    groups.clock.advance(SLOW)
    groups.beat_as("a")
    resolve(groups)
    assert read_by(groups) == {"t1": [0], "t2": [0]}


def test_g009_what_the_client_may_not_see_is_not_read() -> None:
    groups = ConsumerGroups(t1=1, t2=1)
    groups.may_describe = lambda name: name != "t2"
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert read_by(groups) == {"t1": [0]}


def test_names_and_patterns_unite() -> None:
    groups = ConsumerGroups(t1=1, u=1)
    groups.join("a", pattern="t.*", names=["u"])
    resolve(groups)
    assert read_by(groups) == {"t1": [0], "u": [0]}


def test_a_deleted_topic_is_read_no_more() -> None:
    groups = ConsumerGroups(t1=1, t2=1)
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert read_by(groups) == {"t1": [0], "t2": [0]}
    groups.topics.remove("t2")
    groups.clock.advance(SLOW)
    groups.beat_as("a")
    resolve(groups)
    assert read_by(groups) == {"t1": [0]}
    epoch = groups.consumer_group.epoch
    groups.settle()
    assert groups.consumer_group.epoch == epoch, "one change is one epoch"


def test_what_has_not_changed_is_not_written_again() -> None:
    groups = ConsumerGroups(t1=1)
    groups.join("a", pattern="t.*")
    resolve(groups)
    groups.settle()
    before = list(groups.fake.log)
    groups.topics.put("u", 1)
    groups.clock.advance(SLOW)
    groups.settle()
    resolve(groups)
    assert groups.fake.log == before
    assert groups.consumer_group.patterns_version == groups.topics.index_version


def test_they_are_matched_again_when_much_time_has_passed() -> None:
    groups = ConsumerGroups(t1=1)
    groups.may_describe = lambda name: False
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert read_by(groups) == {}
    groups.may_describe = lambda name: True
    for _ in range(15):
        groups.clock.advance(40_000)
        groups.beat_as("a")
    assert groups.consumer_group.patterns_time_ms < groups.clock.now_ms() - 590_000
    groups.clock.advance(1)
    groups.beat_as("a")
    resolve(groups)
    assert read_by(groups) == {"t1": [0]}


def test_a_pattern_that_others_use_is_known_at_once() -> None:
    groups = ConsumerGroups(t1=2)
    groups.join("a", pattern="t.*")
    resolve(groups)
    groups.settle()
    groups.join("b", pattern="t.*")
    groups.settle()
    assert [groups.has("a"), groups.has("b")] == [{"t1": [0]}, {"t1": [1]}]


def test_another_pattern_waits_for_its_turn() -> None:
    groups = ConsumerGroups(t1=1, u1=1)
    groups.join("a", pattern="t.*")
    resolve(groups)
    groups.settle()
    groups.beat_as("a", pattern="u.*", owned={"t1": [0]})
    resolve(groups)
    assert read_by(groups) == {}, "what is read no more is given up"
    groups.clock.advance(SLOW)
    groups.beat_as("a")
    resolve(groups)
    assert read_by(groups) == {"u1": [0]}
    assert list(groups.consumer_group.patterns) == ["u.*"], "nobody uses the other"


def test_the_last_one_to_use_a_pattern_takes_it_along() -> None:
    groups = ConsumerGroups(t1=2)
    for name in "ab":
        groups.join(name, pattern="t.*")
    resolve(groups)
    groups.settle()
    groups.beat_as("a", -1)
    assert groups.consumer_group.patterns
    groups.beat_as("b", -1)
    assert not groups.consumer_group.patterns
    assert groups.fake.log[-2][0][1] == 16


def test_no_pattern_any_more() -> None:
    groups = ConsumerGroups(t1=1, u=1)
    groups.join("a", pattern="t.*", names=["u"])
    resolve(groups)
    groups.settle()
    groups.beat_as("a", pattern="")
    assert read_by(groups) == {"u": [0]}
    assert not groups.consumer_group.patterns


def test_many_names_take_many_turns() -> None:
    groups = ConsumerGroups(**{f"t{number}": 1 for number in range(900)})
    groups.join("a", pattern="t.*")
    resolving = Resolving(groups.state, groups.consumer_group, None)
    turns = 1
    while not resolving.match_some():
        turns += 1
    assert 3 < turns < 900
    resolve(groups)
    assert len(groups.consumer_group.matched("t.*")) == 900


def test_a_hostile_pattern_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patterns, "STATES_MAX", 50_000)
    groups = ConsumerGroups(u=1)
    for number in range(30):
        groups.topics.put("".join(chr(97 + (number * n) % 26) for n in range(200)), 1)
    groups.join("a", pattern="(.{0,30}){0,30}u")
    resolving = Resolving(groups.state, groups.consumer_group, None)
    turns = 1
    while not resolving.match_some():
        turns += 1
    assert resolving.state_count < 50_000 + 2 * patterns.STATES_AT_ONCE
    assert turns > 10, "others have their turns between"
    resolve(groups)
    assert "it would take too long: (.{0,30}){0,30}u" in caplog.text
    assert read_by(groups) == {"u": [0]}, "what was found until then counts"
    assert not wants_resolving(groups.state, groups.consumer_group, "")


def test_while_one_looks_nobody_else_does() -> None:
    groups = ConsumerGroups(t1=1)
    seen = []

    def may_describe(name: str) -> bool:
        group = groups.consumer_group
        seen.append(group.is_resolving)
        assert not wants_resolving(groups.state, group, "t.*")
        return True

    groups.may_describe = may_describe
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert seen == [True]
    assert not groups.consumer_group.is_resolving


def test_after_a_restart_they_are_matched_again() -> None:
    groups = ConsumerGroups(t1=1)
    groups.join("a", pattern="t.*")
    resolve(groups)
    groups.settle()
    groups.flush()
    groups.reload()
    assert groups.has("a") == {"t1": [0]}
    groups.topics.put("t2", 1)
    groups.beat_as("a")
    resolve(groups)
    assert read_by(groups) == {"t1": [0], "t2": [0]}


def test_a_group_that_is_gone_meanwhile() -> None:
    groups = ConsumerGroups(t1=1)

    def may_describe(name: str) -> bool:
        groups.beat_as("a", -1)
        groups.decide(lambda shard: decide_delete(shard, GROUP))
        return True

    groups.may_describe = may_describe
    groups.join("a", pattern="t.*")
    resolve(groups)
    assert not groups.state.consumer_groups
    assert groups.fake.log[-1][0][1] == 3, "nothing was written behind its end"


def test_a_pattern_of_another_broker_that_is_not_understood_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    groups = ConsumerGroups(t1=1)
    groups.join("a", pattern="t.*")
    info = groups.member("a").info._replace(pattern=r"\pL+")
    groups.consumer_group.put_info("a", info)
    resolve(groups)
    assert "is not a valid regular expression" in caplog.text
    assert read_by(groups) == {}
    assert not groups.consumer_group.is_resolving
