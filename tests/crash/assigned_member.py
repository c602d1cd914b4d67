"""A member by the consumer protocol (KIP-848), as a process; see `test_groups`.

It says what it owns before it tells the broker that it has given something up, and
after it was told that it may have something: with the time, so that nobody's reading of
lines has a say in who was first.
"""

import contextlib
import time
from uuid import uuid4

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatTopicPartitions,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.crash import group_member
from tests.crash.group_member import (
    BEAT_S,
    GROUP,
    REBALANCE_MS,
    TOPIC,
    Generation,
    GroupMember,
    Stopped,
    check,
    say,
)

METADATA_WITH_IDS = 12
MEMBER_ID = str(uuid4())


class AssignedMember(GroupMember):
    def __init__(self, address: str) -> None:
        super().__init__(address)
        topic = MetadataRequestTopic(name=TOPIC)
        request = MetadataRequest(topics=[topic])
        found = self.connection.request(request, MetadataResponse, METADATA_WITH_IDS)
        self.topic_id = found.topics[0].topic_id
        self.epoch = 0
        self.offsets: dict[int, int] = {}

    def run(self) -> None:
        while True:
            try:
                self.read_what_is_assigned()
            except group_member.GoneWrong as error:
                # Others may have what was ours: nothing is, until we are told.
                if error.code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    self.epoch, self.offsets = 0, {}
                    say("owns", time.monotonic_ns(), -1)
                time.sleep(0.02)

    def read_what_is_assigned(self) -> None:
        while True:
            begun = time.monotonic()
            self.tell_and_take()
            found = self.fetch(self.offsets)
            for partition, end in found.items():
                say("processed", partition, self.offsets[partition], end)
            if found:
                self.commit(self.now, found)
            self.offsets.update(found)
            time.sleep(max(0.0, BEAT_S - (time.monotonic() - begun)))

    @property
    def now(self) -> Generation:
        return Generation(self.epoch, MEMBER_ID, list(self.offsets))

    def tell_and_take(self) -> None:
        """One heartbeat; what is taken away is given up at once."""
        owned = [
            HeartbeatTopicPartitions(
                topic_id=self.topic_id, partitions=list(self.offsets)
            )
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=MEMBER_ID,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=owned if self.offsets else [],
        )
        told = self.connection.request(request, ConsumerGroupHeartbeatResponse)
        check(told.error_code)
        has_moved = told.member_epoch != self.epoch
        self.epoch = told.member_epoch
        assigned = None
        if told.assignment is not None:
            assigned = {
                partition
                for topic in told.assignment.topic_partitions
                for partition in topic.partitions
            }
        if assigned is not None and assigned != self.offsets.keys():
            has_moved = True
            kept = {each: at for each, at in self.offsets.items() if each in assigned}
            new = sorted(assigned - kept.keys())
            self.offsets = kept
            if new:
                at = Generation(self.epoch, MEMBER_ID, new)
                self.offsets.update(self.committed(at))
        if has_moved:
            say("owns", time.monotonic_ns(), self.epoch, *sorted(self.offsets))


def leave(_: str) -> None:
    host, _, port = group_member.sys.argv[1].partition(":")
    with Connection(host, int(port)) as connection:
        say("owns", time.monotonic_ns(), -1)
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=MEMBER_ID,
            member_epoch=-1,
            topic_partitions=None,
        )
        connection.request(request, ConsumerGroupHeartbeatResponse)


if __name__ == "__main__":
    with contextlib.suppress(Stopped):
        group_member.main(AssignedMember, leave)
