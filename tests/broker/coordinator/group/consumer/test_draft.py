from odradek.broker.coordinator.group.consumer.draft import Draft
from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
from odradek.broker.coordinator.group.state.consumer.member import MemberInfo
from odradek.broker.coordinator.group.state.consumer.records import GroupEpoch
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups

INFO = MemberInfo(topic_names=("u",))


def keys(draft: Draft) -> list[int]:
    return [each.key for each in draft.records]  # type: ignore[attr-defined]


def test_what_is_decided_stands_beside_what_is() -> None:
    groups = ConsumerGroups(t=2, u=1)
    groups.join("a")
    groups.join("b")
    draft = Draft(groups.state, groups.consumer_group)
    assert draft.subscribed_topics() == {"t"}
    draft.describe("a", INFO)
    assert draft.subscribed_topics() == {"t", "u"}
    draft.remove("b")
    assert draft.subscribed_topics() == {"u"}
    assert dict(draft.infos()) == {"a": INFO}
    draft.targets["a"] = {}
    assert draft.target_of("a") == {}
    assert set(groups.consumer_group.members) == {"a", "b"}, "nothing is written"
    assert keys(draft) == [5, 8, 7, 5]


def test_patterns_match_what_was_found_now() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a", pattern="t.*")
    draft = Draft(groups.state, groups.consumer_group)
    draft.patterns["t.*"] = frozenset({"t"})
    assert draft.subscribed_topics() == {"t"}


def test_a_group_begins_with_its_first_epoch() -> None:
    groups = ConsumerGroups()
    draft = Draft(groups.state, ConsumerGroup("new"))
    draft.write_epoch()
    draft.bump()
    assert [each.value for each in draft.records] == [  # type: ignore[attr-defined]
        GroupEpoch(1, 0),
        GroupEpoch(2, 0),
    ]


def test_an_epoch_that_is_written_is_not_written_again() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    draft = Draft(groups.state, groups.consumer_group)
    draft.write_epoch()
    assert not draft.records


def test_what_brokers_before_41_wrote_goes_with_the_next_epoch() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    groups.consumer_group.is_described_as_before_41 = True
    draft = Draft(groups.state, groups.consumer_group)
    draft.bump()
    assert keys(draft) == [3, 4]


def test_topics_are_looked_at_when_any_has_changed() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    draft = Draft(groups.state, groups.consumer_group)
    assert not draft.has_other_topics()
    version = groups.topics.index_version
    assert groups.consumer_group.seen_topics_version == version
    groups.topics.put("other", 1)
    assert not draft.has_other_topics()
    groups.topics.put("t", 2)
    assert draft.has_other_topics()
    assert draft.has_other_topics(), "until that is written"
