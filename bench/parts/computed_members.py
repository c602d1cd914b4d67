"""Members of groups whose partitions the broker assigns, on bare connections."""

import time
import uuid
from dataclasses import dataclass, field

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, error_class
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

FETCH_VERSION = 12  # the last one with names of topics
WITH_NAMES = 9  # of OffsetFetch
REBALANCE_TIMEOUT_MS = 60_000
RETRY_S = 0.02
MAX_BYTES = 1 << 20

Owned = set[tuple[bytes, int]]


@dataclass
class ComputedMember:
    """A member of a group, on a connection of its own; it gives up what it has to."""

    connection: Connection
    group: str
    topic: str
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    owned: Owned = field(default_factory=set)

    def find_coordinator(self) -> None:
        """Wait until there is one, which may have to make its topic."""
        request = FindCoordinatorRequest(coordinator_keys=[self.group])
        while True:
            response = self.connection.request(request, FindCoordinatorResponse)
            code = response.coordinators[0].error_code
            if not code:
                return
            if code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                raise error_class(code)

    def join(self) -> None:
        """Join; come back while the coordinator loads."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=0,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            subscribed_topic_names=[self.topic],
            topic_partitions=[],
        )
        later = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
        while True:
            response = self.connection.request(request, ConsumerGroupHeartbeatResponse)
            if response.error_code not in later:
                break
            time.sleep(RETRY_S)
        self._take(response)

    def beat(self) -> None:
        """One heartbeat; another one at once if it gave something up."""
        if self._take(self._asked(None)):
            self._take(self._asked(self.owned))

    def _asked(self, owned: Owned | None) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=None if owned is None else _by_topic(owned),
        )
        return self.connection.request(request, ConsumerGroupHeartbeatResponse)

    def _take(self, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Note what it is assigned; whether it has to say what it owns now."""
        if response.error_code:
            raise error_class(response.error_code)
        self.epoch = response.member_epoch
        if response.assignment is None:
            return False
        before = self.owned
        self.owned = {
            (each.topic_id, partition)
            for each in response.assignment.topic_partitions
            for partition in each.partitions
        }
        return bool(before - self.owned)


def _by_topic(owned: Owned) -> list[HeartbeatTopicPartitions]:
    partitions: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(owned):
        partitions.setdefault(topic_id, []).append(partition)
    return [
        HeartbeatTopicPartitions(topic_id=topic_id, partitions=found)
        for topic_id, found in partitions.items()
    ]


def joined(port: int, group: str, topic: str) -> ComputedMember:
    """A member that has joined; others of its group may have to give up something."""
    member = ComputedMember(Connection("127.0.0.1", port), group, topic)
    member.find_coordinator()
    member.join()
    return member


def first_record(port: int, group: str, topic: str) -> None:
    """From connect to the first record of a topic with one partition."""
    member = joined(port, group, topic)
    while not member.owned:
        member.beat()
    connection = member.connection
    places = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    asked = OffsetFetchRequestGroup(
        group_id=group,
        member_id=member.member_id,
        member_epoch=member.epoch,
        topics=[places],
    )
    connection.request(
        OffsetFetchRequest(groups=[asked]), OffsetFetchResponse, WITH_NAMES
    )
    partition = FetchPartition(
        partition=0, fetch_offset=0, partition_max_bytes=MAX_BYTES
    )
    fetch = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    response = connection.request(fetch, FetchResponse, FETCH_VERSION)
    assert response.responses[0].partitions[0].records
    connection.close()
