"""Consumer groups with members of the classic protocol, and classic ones before."""

from typing import Any

from odradek.broker.coordinator.group.classic.join import Joining
from odradek.broker.coordinator.group.kinds import (
    decide_any_heartbeat,
    decide_any_join,
    decide_any_leave,
    decide_any_sync,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedPartition,
    decode_assignment,
    encode_assignment,
)
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.group.consumer.rig import (
    GROUP,
    REBALANCE_MS,
    ConsumerGroups,
    Places,
)

__all__ = ["CLASSIC_SESSION_MS", "GROUP", "REBALANCE_MS", "MixedGroups", "Places"]

CLASSIC_SESSION_MS = 10_000


class MixedGroups(ConsumerGroups):
    """As the service asks: whoever comes, whatever the group is."""

    def classic_join(
        self,
        member_id: str = "",
        *,
        topics: tuple[str, ...] = ("t",),
        owned: Places | None = None,
        **fields: Any,
    ) -> Any:
        """The answer, parked perhaps, or the error."""
        said = ConsumerProtocolSubscription(
            topics=list(topics),
            owned_partitions=[
                OwnedPartition(topic=name, partitions=numbers)
                for name, numbers in (owned or {}).items()
            ],
        )
        metadata = b"\0\1" + said.encode(1)
        names = fields.pop("protocols", ("range",))
        joining = Joining(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=fields.pop("instance", None),
            client_id=fields.pop("client_id", "classic"),
            client_host="/127.0.0.1",
            rebalance_timeout_ms=fields.pop("rebalance_timeout_ms", REBALANCE_MS),
            session_timeout_ms=fields.pop("session_timeout_ms", CLASSIC_SESSION_MS),
            protocol_type=fields.pop("protocol_type", "consumer"),
            protocols=tuple((name, metadata) for name in names),
            must_know_its_id=fields.pop("must_know_its_id", False),
            knows_skip_assignment=True,
        )
        assert not fields, fields
        return self.decide(lambda shard: decide_any_join(shard, joining))

    def classic_sync(self, member_id: str, generation: int, **fields: Any) -> Any:
        """The answer, parked perhaps, or the error; ``given`` is what a leader says."""
        given: dict[str, Places] = fields.pop("given", {})
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=each,
                    assignment=encode_assignment(
                        TopicPartition(name, number)
                        for name, numbers in places.items()
                        for number in numbers
                    ),
                )
                for each, places in given.items()
            ],
            **fields,
        )
        return self.decide(lambda shard: decide_any_sync(shard, request))

    def classic_beat(self, member_id: str, generation: int, **fields: Any) -> int:
        """0, or the code of the error."""
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation, member_id=member_id, **fields
        )
        answer = self.decide(lambda shard: decide_any_heartbeat(shard, request))
        code = answer.code if isinstance(answer, KafkaError) else answer.error_code
        return int(code)

    def classic_leave(self, *member_ids: str) -> list[int]:
        members = [MemberIdentity(member_id=each) for each in member_ids]
        answer = self.decide(lambda shard: decide_any_leave(shard, GROUP, members))
        return [each.error_code for each in answer.members]

    def classic_group_of(self, *names: str, **fields: Any) -> list[str]:
        """Members of a stable classic group; the partitions of t, each in turn."""
        parked = [self.classic_join(client_id=name, **fields) for name in names]
        self.clock.advance(self.config.group_initial_rebalance_delay_ms)
        joined = [each.result() for each in parked]
        ids = [each.member_id for each in joined]
        topic = self.topics.get("t")
        assert topic is not None
        given: dict[str, Places] = {each: {"t": []} for each in ids}
        for number in range(len(topic.partitions)):
            given[ids[number % len(ids)]]["t"].append(number)
        for each in joined:
            is_leader = each.leader == each.member_id
            self.classic_sync(
                each.member_id, each.generation_id, given=given if is_leader else {}
            )
        self.flush()
        return ids

    def read_of(self, answer: Any) -> Places:
        """What a SyncGroup has told."""
        if isinstance(answer, Parked):
            answer = answer.result()
        assert not isinstance(answer, KafkaError), repr(answer)
        assert answer.error_code == 0, answer
        found: Places = {}
        for name, number in decode_assignment(answer.assignment):
            found.setdefault(name, []).append(number)
        return found
