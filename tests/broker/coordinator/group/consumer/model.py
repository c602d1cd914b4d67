"""Consumers that do whatever comes to their minds, and what must hold all the same.

A `World` is one consumer group whose members join, beat, forget what they were told,
die, come back; whose topics come, grow and go; whose broker is killed. It asserts that

- a partition is read by one consumer at a time: nobody is told to read one that another
  one still reads, or may read, as far as that one knows;
- no partition is in what two members have or have yet to give up;
- replay of the log makes the same of it;
- a group that is left in peace becomes stable, and all is read.
"""

from dataclasses import dataclass, field
from typing import Any

from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.protocol.errors import KafkaError
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups
from tests.broker.coordinator.group.worlds import (
    REBALANCE_MS,
    SESSION_MS,
    Actor,
    GroupWorld,
    Happenings,
)

TOPICS = ("t", "u", "v")
# What is written of a group.
WRITTEN = ("members", "targets", "patterns", "static_members", "_owners")
WRITTEN += ("epoch", "assignment_epoch", "metadata_hash")


@dataclass(eq=False)
class Consumer(Actor):
    instance: str | None
    names: list[str]
    pattern: str
    reads: set[tuple[bytes, int]] = field(default_factory=set)


class World(GroupWorld[Consumer]):
    def __init__(self, seed: int) -> None:
        super().__init__(seed, ConsumerGroups())
        interval_ms = self.random.choice((0, 0, 1000))
        own = {"consumer.assignment.interval.ms": str(interval_ms)}
        self.groups.options[GROUP] = own
        self._counts = {name: self.random.randint(1, 4) for name in TOPICS}
        for name, count in self._counts.items():
            self.groups.topics.put(name, count)

    # What may happen

    def happenings(self) -> Happenings:
        return {
            self._someone_beats: 60,
            self._someone_comes: 8,
            self._someone_leaves: 3,
            self.someone_dies: 2,
            self._an_answer_is_lost: 4,
            self._someone_reads_others: 3,
            self.time_passes: 10,
            self._topics_change: 3,
            self._broker_restarts: 1,
        }

    def _someone_comes(self) -> None:
        if len(self.actors) > 6:
            return
        instance = self.random.choice((None, None, "one", "two"))
        if any(each.instance == instance for each in self.actors if instance):
            instance = None
        consumer = Consumer(self.new_id(), instance, *self._some_topics())
        self.actors.append(consumer)
        self._beat(consumer)

    def _some_topics(self) -> tuple[list[str], str]:
        names = self.random.sample(TOPICS, self.random.randint(0, 3))
        return names, self.random.choice(("", "", "", "[tu]", ".*"))

    def _someone_beats(self) -> None:
        if consumer := self.someone():
            self._beat(consumer, says_owned=self.random.random() < 0.8)

    def _an_answer_is_lost(self) -> None:
        if consumer := self.someone():
            self._beat(consumer, is_lost=True)

    def _someone_reads_others(self) -> None:
        if (consumer := self.someone()) and consumer.epoch:
            consumer.names, consumer.pattern = self._some_topics()
            self._beat(consumer, says_all=True)

    def _someone_leaves(self) -> None:
        consumer = self.someone()
        if consumer is None or not consumer.epoch:
            return
        for_a_while = consumer.instance is not None and self.random.random() < 0.7
        epoch = -2 if for_a_while else -1
        answer = self.groups.beat_as(
            consumer.member_id, epoch, instance=consumer.instance
        )
        if isinstance(answer, KafkaError):
            self.begin_anew(consumer)
            return
        if for_a_while:
            consumer.reads.clear()
            consumer.epoch = 0
            consumer.member_id = self.new_id()
        else:
            self.actors.remove(consumer)

    def _topics_change(self) -> None:
        name = self.random.choice(TOPICS)
        topics = self.groups.topics
        if topics.get(name) is None:
            topics.put(name, self._counts[name])
        elif self.random.random() < 0.3:
            topics.remove(name)
        elif self._counts[name] < 6:
            self._counts[name] += 1
            topics.put(name, self._counts[name])

    def _broker_restarts(self) -> None:
        self.restart(lambda: self.groups.state.consumer_groups.get(GROUP), WRITTEN)

    # What a consumer does

    def _beat(
        self,
        consumer: Consumer,
        *,
        says_owned: bool = True,
        says_all: bool = False,
        is_lost: bool = False,
    ) -> None:
        fields: dict[str, Any] = {"instance": consumer.instance}
        says_all = says_all or consumer.unsure_ms is not None
        now_ms = self.groups.clock.now_ms()
        owned = self._owned(consumer) if says_owned or says_all else None
        if not consumer.epoch or says_all:
            fields["names"], fields["pattern"] = consumer.names, consumer.pattern
            fields["rebalance_timeout_ms"] = REBALANCE_MS
        if not consumer.epoch:
            owned = {}
        sent = self.groups.beat_as(
            consumer.member_id, consumer.epoch, owned=owned, **fields
        )
        if is_lost:
            consumer.unsure_ms = consumer.unsure_ms or now_ms
            return
        if isinstance(sent, KafkaError):
            self.fenced_count += 1
            self.begin_anew(consumer)
            return
        consumer.heard_ms = now_ms
        consumer.epoch = sent.member_epoch
        told = sent.assignment
        if told is not None:
            self.assigned_count += 1
            may_read = {
                (each.topic_id, partition)
                for each in told.topic_partitions
                for partition in each.partitions
            }
            self._read(consumer, may_read)
        consumer.unsure_ms = None

    def _read(self, consumer: Consumer, places: set[tuple[bytes, int]]) -> None:
        for each in self.actors:
            if each is not consumer:
                assert not each.reads & places, (each, consumer, places)
        # What it has to give up it may have been told before, and not have heard.
        since_ms = consumer.unsure_ms or self.groups.clock.now_ms()
        is_less = bool(consumer.reads - places)
        consumer.revoking_ms = since_ms if is_less else None
        consumer.reads = set(places)

    def begin_anew(self, actor: Consumer) -> None:
        actor.reads.clear()
        actor.epoch = 0
        actor.revoking_ms = None
        actor.unsure_ms = None
        if actor.instance is not None:
            actor.instance = None
            actor.member_id = self.new_id()

    def _owned(self, consumer: Consumer) -> dict[bytes, list[int]]:
        owned: dict[bytes, list[int]] = {}
        for topic_id, partition in sorted(consumer.reads):
            owned.setdefault(topic_id, []).append(partition)
        return owned

    # What must hold

    def check(self) -> None:
        group = self.groups.state.consumer_groups.get(GROUP)
        if group is None:
            return
        owners: dict[tuple[bytes, int], str] = {}
        for member_id, member in group.members.items():
            for held in (member.holding.assigned, member.holding.pending):
                for topic_id, partitions in held.items():
                    for partition in partitions:
                        place = topic_id, partition
                        assert owners.setdefault(place, member_id) == member_id
                        assert group.owner_of(*place) == member_id
            assert member.holding.epoch <= group.epoch
        assert group.assignment_epoch <= group.epoch
        assert set(group.static_members.values()) == {
            each.member_id for each in group.members.values() if each.info.instance_id
        }
        assert group.targets.keys() <= group.members.keys()

    def finish(self) -> None:
        """Nobody comes or goes any more: the group settles, and all is read."""
        self._someone_comes()
        for _ in range(20):
            for each in self.actors:
                self._beat(each)
            self.groups.clock.advance(3_000)
        group = self.groups.consumer_group
        assert group.state in (ConsumerState.STABLE, ConsumerState.EMPTY), group
        assert group.members.keys() == {each.member_id for each in self.actors}
        reads = [place for each in self.actors for place in each.reads]
        wanted = {
            (topic.topic_id, info.partition)
            for name in group.subscribed_topics()
            if (topic := self.groups.topics.get(name)) is not None
            for info in topic.partitions
        }
        assert len(reads) == len(set(reads))
        assert set(reads) == wanted
        self.groups.clock.advance(SESSION_MS + REBALANCE_MS)
        assert not group.members, "all sessions end"
        assert len(self.groups.fake.timers) == 0
        self._broker_restarts()
