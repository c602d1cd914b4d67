import pytest

from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.broker.coordinator.group.state.streams.topology import (
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams import draft as drafts
from odradek.broker.coordinator.group.streams.draft import StreamsDraft
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups


def test_members_as_they_will_be() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    draft = StreamsDraft(groups.state, groups.streams_group)
    draft.remove("a")
    info = groups.member("b").info._replace(process_id="other")
    draft.describe("b", info)
    assert list(draft.infos()) == [("b", info)]
    assert list(groups.streams_group.members) == ["a", "b"], "nothing has happened"


def test_topics_are_looked_at_only_when_some_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = StreamsGroups(t=2)
    asked: list[Topology] = []
    configure = drafts.configure

    def note(topology: Topology, count_of: object) -> object:
        asked.append(topology)
        return configure(topology, count_of)  # type: ignore[arg-type]

    monkeypatch.setattr(drafts, "configure", note)
    groups.join("a")
    groups.beat_as("a")
    assert len(asked) == 2, "what a join makes is another group than is there then"
    groups.beat_as("a")
    groups.topics.put("other", 1)
    groups.beat_as("a")
    assert len(asked) == 2, "it has nothing to do with the others"
    groups.topics.put("t", 3)
    groups.beat_as("a")
    assert len(asked) == 3


def test_an_epoch_says_what_it_was_begun_with() -> None:
    groups = StreamsGroups(t=2)
    draft = StreamsDraft(groups.state, StreamsGroup(GROUP))
    draft.note_topology(Topology(5, (Subtopology("0", ("t",)),)))
    assert draft.look_at_topics().problem is None
    draft.bump_if_other(has_other_members=False)
    assert (draft.epoch, draft.validated_epoch) == (2, 5)
    assert draft.configs == (("num.standby.replicas", "0"),)
    assert len(draft.records) == 2
