"""Members of an application of Kafka Streams that do whatever comes to their minds.

A `StreamsWorld` is one streams group whose members join, beat, forget, die, come back,
say to have what they have not; several of them run in one process. Its topics grow and
go, are made late, are made wrong; its broker is killed. It asserts that

- a task is worked on by one member at a time, as far as members know, and is active in
  what one member has or has yet to give up;
- a process follows no task that it works on, and none twice;
- epochs never fall, and a member is told of tasks of its topology alone;
- replay of the log makes the same of it;
- a group that is left in peace becomes stable: each task is worked on by one member,
  and followed by as many other processes as it shall be.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from odradek.broker.coordinator.group.state.streams.group import StreamsState
from odradek.broker.coordinator.group.state.streams.tasks import (
    Task,
    TaskIds,
    each_task,
)
from odradek.protocol.errors import FencedMemberEpoch, KafkaError, UnknownMemberId
from tests.broker.coordinator.group.streams.rig import (
    GROUP,
    Ids,
    StreamsGroups,
    counting,
    mapping,
)
from tests.broker.coordinator.group.worlds import (
    REBALANCE_MS,
    SESSION_MS,
    Actor,
    GroupWorld,
    Happenings,
)

MEMBERS_MAX = 6
PARTITIONS_MAX = 6
PROCESSES = ("p", "q", "r")
STANDBYS = "streams.num.standby.replicas"
# What is written of a group.
WRITTEN = ("members", "targets", "topology", "configs", "metadata_hash", "epoch")
WRITTEN += ("assignment_epoch", "validated_epoch", "_active", "_standby", "_warmup")


@dataclass(eq=False)
class Worker(Actor):
    process_id: str
    works: set[Task] = field(default_factory=set)
    follows: set[Task] = field(default_factory=set)


class StreamsWorld(GroupWorld[Worker]):
    def __init__(self, seed: int) -> None:
        super().__init__(seed, StreamsGroups())
        choose = self.random.choice
        self._options: dict[str, str] = {
            "streams.assignment.interval.ms": str(choose((0, 0, 1000))),
            "streams.initial.rebalance.delay.ms": str(choose((0, 0, 3000))),
            STANDBYS: str(choose((0, 1, 2))),
        }
        self.groups.options[GROUP] = self._options
        self._topology = choose((mapping("t"), mapping("t", "u"), counting("t")))
        self._counts = {name: self.random.randint(1, 4) for name in "tu"}
        for name, count in self._counts.items():
            if self.random.random() < 0.8:
                self.groups.topics.put(name, count)
        self._missing: dict[str, int] = {}
        self._task_counts: dict[str, int] = {}
        self._epochs = 0, 0
        self.moved_count = 0

    # What may happen

    def happenings(self) -> Happenings:
        return {
            self._someone_beats: 100,
            self._someone_comes: 8,
            self._someone_comes_back: 2,
            self._someone_leaves: 3,
            self.someone_dies: 1,
            self._an_answer_is_lost: 4,
            self._someone_has_lost_tasks: 2,
            self._someone_says_to_have_more: 2,
            self._someone_is_of_the_past: 3,
            self.time_passes: 20,
            self._topic_goes: 1,
            self._topic_grows: 1,
            self._source_topics_come: 6,
            self._somebody_makes_a_topic_wrong: 1,
            self._internal_topics_are_mended: 12,
            self._standbys_change: 1,
            self._broker_restarts: 1,
        }

    def _someone_beats(self) -> None:
        if worker := self.someone():
            self._beat(worker, says_owned=self.random.random() < 0.7)

    def _someone_comes(self) -> None:
        if len(self.actors) < MEMBERS_MAX:
            worker = Worker(self.new_id(), self.random.choice(PROCESSES))
            self.actors.append(worker)
            self._beat(worker)

    def _someone_comes_back(self) -> None:
        """It has lost all, and joins again as the one that it was."""
        if worker := self.someone():
            self.begin_anew(worker)
            self._beat(worker)

    def _someone_leaves(self) -> None:
        worker = self.someone()
        if worker is not None and worker.epoch:
            self.actors.remove(worker)
            answer = self.groups.beat_as(worker.member_id, -1)
            assert not isinstance(answer, KafkaError) or isinstance(
                answer, UnknownMemberId
            )

    def _an_answer_is_lost(self) -> None:
        if worker := self.someone():
            self._beat(worker, is_lost=True)

    def _someone_has_lost_tasks(self) -> None:
        """It says to have less than it had, which is so."""
        if worker := self.someone():
            for tasks in (worker.works, worker.follows):
                tasks -= {each for each in sorted(tasks) if self.random.random() < 0.5}
            self._beat(worker)

    def _someone_says_to_have_more(self) -> None:
        """Tasks that others have, or nobody: that makes them nobody's."""
        if (worker := self.someone()) and worker.epoch and self._is_ready():
            claimed = self._all_tasks()
            self._beat(worker, claimed=self.random.sample(claimed, len(claimed) // 2))

    def _someone_is_of_the_past(self) -> None:
        """It has an epoch that was, as if it had slept."""
        if (worker := self.someone()) and worker.epoch > 1:
            worker.epoch -= self.random.randint(1, min(3, worker.epoch - 1))
            self._beat(worker)

    def _topic_goes(self) -> None:
        name = self.random.choice(("t", "u", "again", "store"))
        if self.groups.topics.get(name) is not None:
            self.groups.topics.remove(name)

    def _topic_grows(self) -> None:
        name = self.random.choice("tu")
        if self._counts[name] < PARTITIONS_MAX:
            self._counts[name] += 1
            self._source_topics_come()
            self.groups.topics.put(name, self._counts[name])

    def _source_topics_come(self) -> None:
        for name, count in self._counts.items():
            if self.groups.topics.get(name) is None:
                self.groups.topics.put(name, count)

    def _somebody_makes_a_topic_wrong(self) -> None:
        if self.groups.topics.get("store") is None:
            self.groups.topics.put("store", self.random.randint(1, 4))

    def _internal_topics_are_mended(self) -> None:
        """They are made; those that have too few partitions now are deleted."""
        topics = self.groups.topics
        for name, count in self._missing.items():
            if topics.get(name) is None:
                topics.put(name, count)
        self._missing = {}
        source = topics.get("t")
        for name in ("again", "store"):
            topic = topics.get(name)
            if source and topic and len(topic.partitions) != len(source.partitions):
                topics.remove(name)

    def _standbys_change(self) -> None:
        self._options[STANDBYS] = str(self.random.randint(0, 2))

    def _broker_restarts(self) -> None:
        self.restart(lambda: self.groups.state.streams_groups.get(GROUP), WRITTEN)

    # What a member does

    def _beat(
        self,
        worker: Worker,
        *,
        says_owned: bool = True,
        is_lost: bool = False,
        claimed: list[Task] | None = None,
    ) -> None:
        now_ms = self.groups.clock.now_ms()
        says_owned = says_owned or worker.unsure_ms is not None
        answer = self._ask(worker, says_owned, claimed or [])
        if is_lost:
            worker.unsure_ms = worker.unsure_ms or now_ms
            return
        if isinstance(answer, KafkaError):
            assert isinstance(answer, (FencedMemberEpoch, UnknownMemberId)), answer
            self.fenced_count += 1
            self.begin_anew(worker)
            return
        self._note_task_counts()
        self._missing = {each.name: each.partitions for each in answer.missing}
        worker.heard_ms = now_ms
        worker.epoch = self.groups.response(answer).member_epoch
        if says_owned and not claimed:
            worker.revoking_ms = None
        told = self.groups.told(answer)
        if told is not None:
            self.assigned_count += 1
            self._work(worker, told, self.groups.told_standby(answer))
        worker.unsure_ms = None

    def _ask(self, worker: Worker, says_owned: bool, claimed: list[Task]) -> Any:
        if not worker.epoch:
            return self.groups.join(
                worker.member_id,
                process_id=worker.process_id,
                topology=self._topology,
                rebalance_timeout_ms=REBALANCE_MS,
            )
        owned = _ids({*worker.works, *claimed}) if says_owned else None
        return self.groups.beat_as(
            worker.member_id, worker.epoch, owned=owned, standby=_ids(worker.follows)
        )

    def _work(self, worker: Worker, told: Ids, told_standby: Ids) -> None:
        works, follows = set(_tasks(told)), set(_tasks(told_standby))
        for task in works | follows:
            assert 0 <= task[1] < self._task_counts[task[0]], task
        for each in self.actors:
            if each is not worker:
                assert not each.works & works, (each, worker, works)
        # What it has to give up it may have been told before, and not have heard.
        if worker.works - works or worker.follows - follows:
            worker.revoking_ms = worker.unsure_ms or self.groups.clock.now_ms()
        self.moved_count += bool(worker.works - works)
        worker.works, worker.follows = works, follows

    def begin_anew(self, actor: Worker) -> None:
        actor.works, actor.follows = set(), set()
        actor.epoch = 0
        actor.revoking_ms = actor.unsure_ms = None

    # What there is

    def _note_task_counts(self) -> None:
        """Topics only grow, or are made again as they were."""
        for part in self._topology.subtopologies:
            inputs = [each.name for each in part.repartition_source_topics]
            inputs += part.source_topics
            found = [self.groups.topics.get(name) for name in inputs]
            counts = [len(topic.partitions) for topic in found if topic is not None]
            known = self._task_counts.get(part.subtopology_id, 0)
            self._task_counts[part.subtopology_id] = max([known, *counts])

    def _is_ready(self) -> bool:
        group = self.groups.state.streams_groups.get(GROUP)
        return group is not None and group.state is not StreamsState.NOT_READY

    def _all_tasks(self) -> list[Task]:
        return [
            (name, number)
            for name, count in sorted(self._task_counts.items())
            for number in range(count)
        ]

    # What must hold

    def check(self) -> None:
        group = self.groups.state.streams_groups.get(GROUP)
        if group is None:
            return
        workers: dict[Task, str] = {}
        roles: dict[tuple[str, Task], str] = {}
        for member_id, member in group.members.items():
            process_id = member.info.process_id
            for held in (member.holding.assigned, member.holding.pending):
                for task in each_task(held.active):
                    assert workers.setdefault(task, member_id) == member_id
                    assert group.worker(task) == process_id
                    assert roles.setdefault((process_id, task), "active") == "active"
                for task in each_task(held.standby):
                    assert group.follows(process_id, task)
                    assert (process_id, task) not in roles, (group, member)
                    roles[process_id, task] = "standby"
            assert member.holding.previous_epoch <= member.holding.epoch <= group.epoch
        assert len(group._active) == len(workers)
        epochs = group.epoch, group.assignment_epoch
        assert all(map(int.__ge__, epochs, self._epochs)), (epochs, self._epochs)
        self._epochs = epochs
        assert group.assignment_epoch <= group.epoch
        assert group.targets.keys() <= group.members.keys()

    def finish(self) -> None:
        """Nobody comes or goes any more: the group settles, and all is done."""
        self._someone_comes()
        topics = self.groups.topics
        for name in "tu":
            topics.put(name, self._counts[name])
        for _ in range(20):
            for each in self.actors:
                self._beat(each)
                self.check()
            self._internal_topics_are_mended()
            self.groups.clock.advance(3_000)
        group = self.groups.streams_group
        assert group.state is StreamsState.STABLE, group
        assert group.members.keys() == {each.member_id for each in self.actors}
        works = [task for each in self.actors for task in each.works]
        assert sorted(works) == self._all_tasks()
        self._check_followers()
        self.groups.clock.advance(SESSION_MS + REBALANCE_MS)
        assert not group.members, "all sessions end"
        assert len(self.groups.fake.timers) == 0
        self._broker_restarts()

    def _check_followers(self) -> None:
        process_count = len({each.process_id for each in self.actors})
        wanted = min(int(self._options[STANDBYS]), process_count - 1)
        follows = Counter(task for each in self.actors for task in each.follows)
        with_state = {
            each.subtopology_id
            for each in self._topology.subtopologies
            if each.state_changelog_topics
        }
        assert +follows == +Counter(
            {task: wanted for task in self._all_tasks() if task[0] in with_state}
        )


def _tasks(ids: Ids | TaskIds) -> list[Task]:
    return [(name, number) for name, numbers in ids.items() for number in numbers]


def _ids(tasks: set[Task]) -> Ids:
    ids: Ids = {}
    for name, number in sorted(tasks):
        ids.setdefault(name, []).append(number)
    return ids
