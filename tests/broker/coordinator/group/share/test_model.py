"""Members come and go, topics too, and the broker stops: what always holds."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.broker.coordinator.group.offsets.expiry import decide_forget_topic
from odradek.protocol.errors import CoordinatorLoadInProgress
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups

members = st.sampled_from("abcdef")
topics = st.sampled_from("tuv")


class ShareGroupModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.groups = ShareGroups(t=2)
        self.counts = {"t": 2}
        self.subscribed: dict[str, set[str]] = {}

    @rule(member_id=members, names=st.sets(topics, min_size=1))
    def join(self, member_id: str, names: set[str]) -> None:
        answer = self.groups.join(member_id, sorted(names))
        self.subscribed[member_id] = names
        told = self.groups.told(answer)
        assert told is not None
        assert told == self.groups.has(member_id)

    @precondition(lambda self: self.subscribed)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        member_id = data.draw(st.sampled_from(sorted(self.subscribed)))
        assert self.groups.beat_as(member_id, -1).member_epoch == -1
        del self.subscribed[member_id]

    @rule(name=topics, more=st.integers(1, 3))
    def widen(self, name: str, more: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + more
        self.groups.topics.put(name, self.counts[name])

    @precondition(lambda self: self.counts)
    @rule(data=st.data())
    def delete_topic(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.counts)))
        del self.counts[name]
        self.groups.topics.remove(name)
        self.groups.decide(lambda shard: decide_forget_topic(shard, name, None))

    @rule(partition=st.integers(0, 3))
    def one_state_cannot_begin(self, partition: int) -> None:
        self.groups.states.refused = {partition: CoordinatorLoadInProgress()}

    @rule()
    def every_state_can(self) -> None:
        self.groups.states.refused = {}

    @rule()
    def restart(self) -> None:
        self.groups.reload()

    @precondition(lambda self: GROUP in self.groups.state.share_groups)
    @rule()
    def everybody_beats(self) -> None:
        """Twice: the first of them may have changed the target of the others."""
        for _ in range(2):
            for member_id in self.subscribed:
                self.groups.beat_as(member_id)
        group = self.groups.share_group
        if not self.subscribed:
            return
        assert group.epoch == group.assignment_epoch
        wanted = set().union(*self.subscribed.values()) & self.counts.keys()
        for name in wanted:
            readers = {
                number
                for member_id in self.subscribed
                for number in self.groups.has(member_id).get(name, ())
            }
            there = set(range(self.counts[name]))
            refused = there & self.groups.states.refused.keys()
            assert there - refused <= readers <= there
        before = list(self.groups.fake.log)
        for member_id in self.subscribed:
            self.groups.beat_as(member_id)
        if not self.groups.states.refused:
            assert self.groups.fake.log == before, "nothing is left to do"

    @invariant()
    def who_reads_subscribes_and_it_has_a_state(self) -> None:
        group = self.groups.state.share_groups.get(GROUP)
        assert (group.members.keys() if group else set()) == self.subscribed.keys()
        begun = {key[1:] for key in self.groups.states.starts}
        for each in group.members.values() if group else ():
            for topic_id, numbers in each.holding.assigned.items():
                topic = self.groups.topics.by_id(topic_id)
                if topic is not None:
                    assert topic.name in self.subscribed[each.member_id]
                    assert {(topic_id, number) for number in numbers} <= begun


TestShareGroupModel = ShareGroupModel.TestCase
TestShareGroupModel.settings = settings(max_examples=60, stateful_step_count=30)
