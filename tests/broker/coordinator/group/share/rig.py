"""Share groups (KIP-932) without a broker: heartbeats in few words."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.share.beginning import dismiss
from odradek.broker.coordinator.group.share.check import check_request
from odradek.broker.coordinator.group.share.heartbeat import (
    ShareBeat,
    decide_share_beat,
)
from odradek.broker.coordinator.group.share.sessions import resume
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.share.member import ShareMember
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.broker.coordinator.group.rig import GROUP, Groups

__all__ = ["GROUP", "FakeStates", "ShareGroups"]

Places = dict[str, list[int]]


class FakeStates:
    """The share coordinator: what has a state. ``is_slow``: it answers when told to."""

    def __init__(self) -> None:
        self.starts: dict[ShareKey, int] = {}
        self.epochs: list[int] = []
        self.asked: list[list[ShareKey]] = []
        self.refused: dict[int, KafkaError] = {}  # by partition
        self.is_slow = False
        self._later: list[Callable[[], None]] = []

    def initialise(
        self, starts: Mapping[ShareKey, int], state_epoch: int, finish: Any
    ) -> Any:
        self.epochs.append(state_epoch)
        self.asked.append(sorted(starts))
        return self._answer(starts, finish, lambda key: self._begin(key, starts[key]))

    def delete(self, keys: Iterable[ShareKey], finish: Any) -> Any:
        keys = list(keys)
        self.asked.append(sorted(keys))
        return self._answer(keys, finish, lambda key: self.starts.pop(key, None))

    def answer_now(self) -> None:
        while self._later:
            self._later.pop(0)()

    def _begin(self, key: ShareKey, start: int) -> None:
        self.starts[key] = start

    def _answer(
        self, keys: Iterable[ShareKey], finish: Any, act: Callable[[ShareKey], object]
    ) -> Any:
        def results() -> Any:
            found: dict[ShareKey, KafkaError | None] = {}
            for key in keys:
                found[key] = self.refused.get(key.partition)
                if found[key] is None:
                    act(key)
            return finish(found)

        if not self.is_slow:
            return results()
        parked: Parked[Any] = Parked()
        self._later.append(lambda: parked.set_result(results()))
        return parked


class ShareGroups(Groups):
    """A shard whose topics are told as ``name=count``; assigns at every change."""

    def __init__(self, options: dict[str, Any] | None = None, **counts: int) -> None:
        self.states = FakeStates()
        super().__init__(**(options or {}))
        self.options[GROUP] = {"share.assignment.interval.ms": "0"}
        for name, count in counts.items():
            self.topics.put(name, count)

    def _new_state(self) -> GroupShard:
        state = super()._new_state()
        state.share_states = lambda: cast("Any", self.states)
        state.when_loaded.append(resume)
        state.when_unloaded.append(dismiss)
        return state

    @property
    def share_group(self) -> ShareGroup:
        return self.state.share_groups[GROUP]

    def member(self, member_id: str) -> ShareMember:
        return self.share_group.members[member_id]

    # Requests

    def beat_as(
        self,
        member_id: str,
        epoch: int | None = None,
        names: list[str] | None = None,
        *,
        group_id: str = GROUP,
        **fields: Any,
    ) -> Any:
        """The answer, the error, or the parked answer if states are slow."""
        if epoch is None:
            epoch = self.member(member_id).holding.epoch
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=names,
            **fields,
        )

        def decide(shard: GroupShard) -> Any:
            check_request(request)
            return decide_share_beat(shard, ShareBeat(request, "client", "/127.0.0.1"))

        answer = self.decide(decide)
        self.clock.advance(0)  # states are asked for in a turn of their own
        if isinstance(answer, Parked) and answer.done():
            return answer.result()
        return answer

    def join(  # type: ignore[override]
        self, member_id: str, names: list[str] | None = None, **fields: Any
    ) -> Any:
        """A member joins that reads ``t``, unless it says something else."""
        return self.beat_as(member_id, 0, ["t"] if names is None else names, **fields)

    def delete(self) -> Any:
        """The code, the error, or the parked code."""
        answer = self.decide(lambda shard: decide_delete(shard, GROUP))
        self.flush()
        self.clock.advance(0)
        if isinstance(answer, Parked) and answer.done():
            return answer.result()
        return answer

    # What came of it

    def told(self, answer: ShareGroupHeartbeatResponse) -> Places | None:
        """The assignment of an answer, if it has one."""
        assert not isinstance(answer, KafkaError), repr(answer)
        assert not answer.error_code, answer
        if answer.assignment is None:
            return None
        return {
            self._name(each.topic_id): each.partitions
            for each in answer.assignment.topic_partitions
        }

    def has(self, member_id: str) -> Places:
        """What a member has been assigned."""
        assigned = self.member(member_id).holding.assigned
        return {self._name(key): sorted(of) for key, of in assigned.items()}

    def kinds(self, since: int = 0) -> list[int]:
        """The kinds of the records that were written."""
        return [key[1] for key, _ in self.fake.log[since:]]

    def _name(self, topic_id: bytes) -> str:
        topic = self.topics.by_id(topic_id)
        return "?" if topic is None else topic.name
