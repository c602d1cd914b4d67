from odradek.broker.coordinator.group.share.draft import ShareDraft
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.share.member import ShareMemberInfo
from odradek.broker.coordinator.group.state.share.states import TopicStates
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def test_a_group_begins_at_1_and_its_first_change_makes_2() -> None:
    groups = ShareGroups(t=1)
    draft = ShareDraft(groups.state, ShareGroup(GROUP))
    assert draft.epoch == 1
    draft.describe("a", ShareMemberInfo(topic_names=("t",)))
    draft.bump()
    assert draft.epoch == 2


def test_it_knows_who_will_be_there() -> None:
    groups = ShareGroups(t=1, u=1)
    groups.join("a")
    groups.join("b", ["u"])
    draft = ShareDraft(groups.state, groups.share_group)
    draft.remove("a")
    draft.describe("c", ShareMemberInfo(topic_names=("v", "w")))
    assert [name for name, _ in draft.infos()] == ["b", "c"]
    assert draft.subscribed_topics() == {"u", "v", "w"}
    assert groups.share_group.subscribed_topics() == {"t", "u"}, "nothing has happened"


def test_what_has_no_state_yet() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    topic_id = groups.topics.put("t", 3)
    draft = ShareDraft(groups.state, groups.share_group)
    assert draft.without_state() == {topic_id: TopicStates("t", frozenset({1, 2}))}
    draft.put_states(draft.states.begun(draft.without_state()))
    assert not draft.without_state()
    records = len(draft.records)
    draft.put_states(draft.states)
    assert len(draft.records) == records, "nothing new, nothing to write"


def test_topics_are_looked_at_when_any_has_changed() -> None:
    groups = ShareGroups(t=1)
    groups.join("a")
    assert not ShareDraft(groups.state, groups.share_group).has_other_topics()
    groups.topics.put("other", 1)
    assert not ShareDraft(groups.state, groups.share_group).has_other_topics()
    groups.topics.put("t", 2)
    assert ShareDraft(groups.state, groups.share_group).has_other_topics()


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    groups = ShareGroups(t=2)
    groups.options[GROUP] = {"share.assignment.interval.ms": "1000"}
    groups.join("a")
    groups.clock.jump_wall(-60_000)
    assert groups.told(groups.join("b")) == {"t": [1]}


def test_what_has_a_state_is_not_looked_at_again() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    group = groups.share_group
    assert not ShareDraft(groups.state, group).without_state()
    assert group.whole_at == (group.states, groups.topics.index_version)
    known = groups.topics.get
    groups.topics.get = None  # type: ignore[assignment, method-assign]
    assert not ShareDraft(groups.state, group).without_state()
    groups.topics.get = known  # type: ignore[method-assign]
    groups.topics.put("t", 3)
    assert ShareDraft(groups.state, group).without_state()
