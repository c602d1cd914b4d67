"""Consumer groups (KIP-848) without a broker: heartbeats in few words."""

from typing import Any

from odradek.broker.coordinator.group.consumer.check import check_request
from odradek.broker.coordinator.group.consumer.heartbeat import Beat, decide_beat
from odradek.broker.coordinator.group.consumer.sessions import resume
from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from tests.broker.coordinator.group.rig import GROUP, Groups

__all__ = ["GROUP", "ConsumerGroups", "Places"]

REBALANCE_MS = 60_000
Places = dict[str, list[int]]


class ConsumerGroups(Groups):
    """A shard whose topics are told as ``name=count``; assigns at every change."""

    def __init__(self, options: dict[str, Any] | None = None, **counts: int) -> None:
        super().__init__(**(options or {}))
        self.options[GROUP] = {"consumer.assignment.interval.ms": "0"}
        for name, count in counts.items():
            self.topics.put(name, count)
        self.may_describe: Any = None

    def _new_state(self) -> GroupShard:
        state = super()._new_state()
        state.when_loaded.append(resume)
        return state

    @property
    def consumer_group(self) -> ConsumerGroup:
        return self.state.consumer_groups[GROUP]

    def member(self, member_id: str) -> ConsumerMember:
        return self.consumer_group.members[member_id]

    # Requests

    def beat_as(
        self,
        member_id: str,
        epoch: int | None = None,
        *,
        owned: Places | dict[bytes, list[int]] | None = None,
        group_id: str = GROUP,
        **fields: Any,
    ) -> Any:
        """The answer, or the error. Without an epoch it is the member's own."""
        if epoch is None:
            epoch = self.member(member_id).holding.epoch
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            topic_partitions=None if owned is None else self.as_sent(owned),
            instance_id=fields.pop("instance", None),
            subscribed_topic_names=fields.pop("names", None),
            subscribed_topic_regex=fields.pop("pattern", None),
            **fields,
        )
        beat = Beat(request, "client", "/127.0.0.1", self.may_describe)

        def decide(shard: GroupShard) -> Any:
            assignors = shard.config.group_consumer_assignors
            check_request(request, 1, assignors)
            return decide_beat(shard, beat)

        return self.decide(decide)

    def join(self, member_id: str, **fields: Any) -> Any:  # type: ignore[override]
        """A member joins that reads ``t``, unless it says something else."""
        if not {"names", "pattern"} & fields.keys():
            fields["names"] = ["t"]
        fields.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        return self.beat_as(member_id, 0, owned={}, **fields)

    def as_sent(
        self, places: Places | dict[bytes, list[int]]
    ) -> list[HeartbeatTopicPartitions]:
        return [
            HeartbeatTopicPartitions(
                topic_id=name if isinstance(name, bytes) else self.id_of(name),
                partitions=numbers,
            )
            for name, numbers in places.items()
        ]

    def id_of(self, name: str) -> bytes:
        topic = self.topics.get(name)
        assert topic is not None, name
        return topic.topic_id

    # What came of it

    def told(self, answer: ConsumerGroupHeartbeatResponse) -> Places | None:
        """The assignment of an answer, if it has one."""
        assert not isinstance(answer, KafkaError), repr(answer)
        if answer.assignment is None:
            return None
        return {
            self._name(each.topic_id): each.partitions
            for each in answer.assignment.topic_partitions
        }

    def has(self, member_id: str) -> Places:
        """What a member has been assigned."""
        held = self.member(member_id).holding.assigned
        return {self._name(topic_id): sorted(of) for topic_id, of in held.items()}

    def _name(self, topic_id: bytes) -> str:
        topic = self.topics.by_id(topic_id)
        return "?" if topic is None else topic.name

    def settle(self, ids: list[str] | None = None) -> None:
        """Let all members do what they are told, until nothing changes any more."""
        for _ in range(10):
            before = list(self.fake.log)
            for member_id in ids or list(self.consumer_group.members):
                self.beat_as(member_id, owned=self.has(member_id))
            if self.fake.log == before:
                return
        raise AssertionError("the group does not settle")
