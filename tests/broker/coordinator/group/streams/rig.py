"""Streams groups (KIP-1071) without a broker: heartbeats in few words."""

from typing import Any

from odradek.broker.coordinator.group.administration import decide_delete
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.broker.coordinator.group.state.streams.member import StreamsMember
from odradek.broker.coordinator.group.streams.answers import StreamsAnswer
from odradek.broker.coordinator.group.streams.asked import StreamsBeat
from odradek.broker.coordinator.group.streams.check import check_request
from odradek.broker.coordinator.group.streams.heartbeat import decide_streams_beat
from odradek.broker.coordinator.group.streams.sessions import resume
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsHeartbeatSubtopology,
    StreamsHeartbeatTopology,
    StreamsTaskIds,
    StreamsTopicInfo,
)
from tests.broker.coordinator.group.rig import GROUP, Groups

__all__ = ["GROUP", "Ids", "StreamsGroups", "counting", "mapping"]

Ids = dict[str, list[int]]
NOTHING: Ids = {}


def mapping(*sources: str, epoch: int = 0) -> StreamsHeartbeatTopology:
    """An application of one part, without a state."""
    part = StreamsHeartbeatSubtopology(subtopology_id="0", source_topics=list(sources))
    return StreamsHeartbeatTopology(epoch=epoch, subtopologies=[part])


def counting(source: str = "t") -> StreamsHeartbeatTopology:
    """One that hands words on by a topic, and counts them in another part."""
    return StreamsHeartbeatTopology(
        subtopologies=[
            StreamsHeartbeatSubtopology(
                subtopology_id="0",
                source_topics=[source],
                repartition_sink_topics=["again"],
            ),
            StreamsHeartbeatSubtopology(
                subtopology_id="1",
                repartition_source_topics=[StreamsTopicInfo(name="again")],
                state_changelog_topics=[StreamsTopicInfo(name="store")],
            ),
        ]
    )


class StreamsGroups(Groups):
    """A shard whose topics are told as ``name=count``; assigns at every change."""

    def __init__(self, options: dict[str, Any] | None = None, **counts: int) -> None:
        super().__init__(**(options or {}))
        self.options[GROUP] = {
            "streams.assignment.interval.ms": "0",
            "streams.initial.rebalance.delay.ms": "0",
        }
        for name, count in counts.items():
            self.topics.put(name, count)

    def _new_state(self) -> GroupShard:
        state = super()._new_state()
        state.when_loaded.append(resume)
        return state

    @property
    def streams_group(self) -> StreamsGroup:
        return self.state.streams_groups[GROUP]

    def member(self, member_id: str) -> StreamsMember:
        return self.streams_group.members[member_id]

    # Requests

    def beat_as(
        self,
        member_id: str,
        epoch: int | None = None,
        *,
        owned: Ids | None = None,
        standby: Ids | None = None,
        **fields: Any,
    ) -> Any:
        """The answer, or the error. Without an epoch it is the member's own."""
        if epoch is None:
            epoch = self.member(member_id).holding.epoch
        if owned is not None:
            fields["active_tasks"] = _as_sent(owned)
            fields["standby_tasks"] = _as_sent(standby or NOTHING)
            fields["warmup_tasks"] = []
        fields.setdefault("group_id", GROUP)
        fields.setdefault("endpoint_information_epoch", 0)
        request = StreamsGroupHeartbeatRequest(
            member_id=member_id, member_epoch=epoch, **fields
        )

        def decide(shard: GroupShard) -> Any:
            check_request(request)
            beat = StreamsBeat(request, "client", "/127.0.0.1")
            return decide_streams_beat(shard, beat)

        return self.decide(decide)

    def join(self, member_id: str, **fields: Any) -> Any:  # type: ignore[override]
        """A member joins that maps ``t``, in a process of its own name."""
        fields.setdefault("topology", mapping("t"))
        fields.setdefault("process_id", f"p-{member_id}")
        fields.setdefault("rebalance_timeout_ms", 60_000)
        return self.beat_as(member_id, 0, owned=NOTHING, **fields)

    def delete(self) -> Any:
        """The code, or the error."""
        answer = self.decide(lambda shard: decide_delete(shard, GROUP))
        self.flush()
        return answer

    # What came of it

    def told(self, answer: Any) -> Ids | None:
        """The active tasks of an answer, if it tells of tasks."""
        response = self.response(answer)
        return None if response.active_tasks is None else _read(response.active_tasks)

    def told_standby(self, answer: Any) -> Ids:
        """The standby tasks of an answer."""
        return _read(self.response(answer).standby_tasks or [])

    def statuses(self, answer: Any) -> dict[int, str]:
        """What an answer says of the group."""
        statuses = self.response(answer).status or []
        return {each.status_code: each.status_detail for each in statuses}

    def response(self, answer: Any) -> Any:
        assert not isinstance(answer, KafkaError), repr(answer)
        assert isinstance(answer, StreamsAnswer)
        assert not answer.response.error_code, answer
        return answer.response

    def has(self, member_id: str) -> Ids:
        """The active tasks of a member."""
        active = self.member(member_id).holding.assigned.active
        return {key: sorted(of) for key, of in active.items()}

    def kinds(self, since: int = 0) -> list[int]:
        """The kinds of the records that were written."""
        return [key[1] for key, _ in self.fake.log[since:]]


def _as_sent(ids: Ids) -> list[StreamsTaskIds]:
    return [
        StreamsTaskIds(subtopology_id=key, partitions=of) for key, of in ids.items()
    ]


def _read(tasks: list[StreamsTaskIds]) -> Ids:
    return {each.subtopology_id: each.partitions for each in tasks}
