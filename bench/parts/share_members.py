"""Members of share groups that accept all they are handed and look at none of it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
)
from odradek.client.errors import raise_for
from odradek.client.fetcher import FetchLimits
from odradek.client.metadata import Broker
from odradek.client.share_session import ACCEPT, Outcome, ShareSession
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.uuids import random_uuid, to_text

RECORDS_MAX = 500  # as the Java client asks
LIMITS = FetchLimits(max_wait_ms=500)
RETRY_S = 0.01


class ShareMember:
    """A member of a share group, with a connection of its own."""

    def __init__(self, port: int, group: str, topic: str) -> None:
        self.cluster = Cluster([Address("127.0.0.1", port)], timeout_s=60)
        self._group, self._topic = group, topic
        self._id, self._epoch = to_text(random_uuid()), 0
        self._places: set[tuple[bytes, int]] = set()

    def join(self) -> None:
        """Come back until partitions are assigned: Kafka needs some heartbeats."""
        while not self._places:
            self.cluster.at_coordinator(self._group, self._beat)
            if not self._places:
                time.sleep(RETRY_S)
        (leader,) = {
            node
            for topic in self.cluster.metadata([self._topic]).topics.values()
            for node in topic.leaders.values()
        }
        self.session = ShareSession(self.cluster, leader, self._group, self._id)

    def _beat(self, coordinator: Broker) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._id,
            member_epoch=self._epoch,
            subscribed_topic_names=None if self._epoch else [self._topic],
        )
        answer = self.cluster.request(
            request, ShareGroupHeartbeatResponse, coordinator.node_id
        )
        raise_for(answer.error_code, answer.error_message)
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._places = {
                (each.topic_id, partition)
                for each in answer.assignment.topic_partitions
                for partition in each.partitions
            }

    def fetch(self) -> int:
        """How many records it was handed; they are accepted with the next fetch."""
        count = 0
        for place, data in self.session.fetch(self._places, LIMITS, RECORDS_MAX):
            raise_for(data.error_code, data.error_message)
            raise_for(data.acknowledge_error_code, data.acknowledge_error_message)
            for each in data.acquired_records:
                first, last = each.first_offset, each.last_offset
                self.session.say(place, Outcome(first, last, ACCEPT))
                count += last - first + 1
        return count

    def close(self) -> None:
        """What is not told yet is, then it leaves without a word."""
        self.session.end()
        self.cluster.close()


def begin_with_the_first(port: int, group: str) -> None:
    """Let a share group that is to come read all that there is."""
    with Cluster([Address("127.0.0.1", port)]) as cluster:
        alter_configs(
            cluster,
            ConfigResource(ConfigResourceType.GROUP, group),
            [ConfigChange(Operation.SET, "share.auto.offset.reset", "earliest")],
        )


def read_all(port: int, group: str, topic: str, members: int, count: int) -> float:
    """Seconds until so many members together have accepted ``count`` records."""
    consumers = [ShareMember(port, group, topic) for _ in range(members)]
    for each in consumers:
        each.join()
    read, lock = 0, threading.Lock()

    def work(member: ShareMember) -> None:
        nonlocal read
        while read < count:
            handed = member.fetch()
            with lock:
                read += handed
        member.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(members) as threads:
        list(threads.map(work, consumers))
    return time.perf_counter() - began
