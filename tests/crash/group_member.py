"""A member of the group "torture" on bare requests, as a process; see `test_groups`.

It joins, shares partitions out if it leads, reads what it was given from where the
group is, says what it has processed and commits that, beats, and joins again when it
is told to. SIGTERM makes it leave; whatever else happens, it tries again. A line that
it prints goes to the pipe whole, before anything that follows it.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from odradek.client.connection import Connection
from odradek.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    OwnedPartition,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.protocol.record_batch import scan
from tests.patience import PATIENCE_S

GROUP = TOPIC = "torture"
PARTITIONS = 24
SESSION_MS, REBALANCE_MS = 1500, 5000
BEAT_S = 0.1
WITH_NAMES = 12  # of Fetch
COMMIT_WITH_NAMES = 9


class GoneWrong(Exception):
    """An error code: join again, perhaps as somebody new."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = code


class Generation(NamedTuple):
    """What the member is part of."""

    generation_id: int
    member_id: str
    partitions: list[int]


class Stopped(BaseException):
    """SIGTERM came."""


class GroupMember:
    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.connection = Connection(host, int(port), timeout_s=PATIENCE_S)
        self.member_id = ""
        # Asked for, the coordinator's topic is made.
        request = FindCoordinatorRequest(coordinator_keys=[GROUP])
        found = self.connection.request(request, FindCoordinatorResponse)
        check(found.coordinators[0].error_code)

    def run(self) -> None:
        while True:
            try:
                self.read(self.join())
            except GoneWrong as error:
                if error.code in (
                    ErrorCode.UNKNOWN_MEMBER_ID,
                    ErrorCode.FENCED_INSTANCE_ID,
                ):
                    self.member_id = ""
                time.sleep(0.02)

    # Membership

    def join(self) -> Generation:
        while True:
            protocol = JoinGroupRequestProtocol(name="turns", metadata=b"")
            request = JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                member_id=self.member_id,
                protocol_type="consumer",
                protocols=[protocol],
            )
            joined = self.connection.request(request, JoinGroupResponse)
            if joined.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
            self.member_id = joined.member_id
        check(joined.error_code)
        self.member_id = joined.member_id
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="turns",
            assignments=shared_out(joined),
        )
        synced = self.connection.request(request, SyncGroupResponse)
        check(synced.error_code)
        given = ConsumerProtocolAssignment.decode(memoryview(synced.assignment), 0)
        partitions = given.assigned_partitions[0].partitions
        say("owns", time.monotonic_ns(), joined.generation_id, *partitions)
        return Generation(joined.generation_id, self.member_id, list(partitions))

    def beat(self, now: Generation) -> None:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=now.generation_id,
            member_id=now.member_id,
        )
        check(self.connection.request(request, HeartbeatResponse).error_code)

    # Reading

    def read(self, now: Generation) -> None:
        offsets = self.committed(now)
        while True:
            self.beat(now)
            begun = time.monotonic()
            found = self.fetch(offsets)
            if found:
                for partition, end in found.items():
                    say("processed", partition, offsets[partition], end)
                offsets.update(found)
                self.commit(now, found)
            time.sleep(max(0.0, BEAT_S - (time.monotonic() - begun)))

    def committed(self, now: Generation) -> dict[int, int]:
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=now.partitions)
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])]
        )
        response = self.connection.request(
            request, OffsetFetchResponse, COMMIT_WITH_NAMES
        )
        (group,) = response.groups
        check(group.error_code)
        return {
            each.partition_index: max(0, each.committed_offset)
            for topic in group.topics
            for each in topic.partitions
        }

    def fetch(self, offsets: dict[int, int]) -> dict[int, int]:
        """The offsets behind what was found, of partitions that have something."""
        if not offsets:
            return {}
        partitions = [
            FetchPartition(
                partition=each, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            for each, offset in offsets.items()
        ]
        request = FetchRequest(
            max_wait_ms=50,
            min_bytes=1,
            max_bytes=1 << 24,
            topics=[FetchTopic(topic=TOPIC, partitions=partitions)],
        )
        response = self.connection.request(request, FetchResponse, WITH_NAMES)
        found = {}
        for topic in response.responses:
            for each in topic.partitions:
                check(each.error_code)
                for _, header in scan(each.records or b""):
                    found[each.partition_index] = header.next_offset
        return found

    def commit(self, now: Generation, found: dict[int, int]) -> None:
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=each, committed_offset=end, committed_metadata=""
            )
            for each, end in found.items()
        ]
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=now.generation_id,
            member_id=now.member_id,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
        )
        response = self.connection.request(
            request, OffsetCommitResponse, COMMIT_WITH_NAMES
        )
        for topic in response.topics:
            for each in topic.partitions:
                check(each.error_code)


def shared_out(joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
    """The leader's assignment: partitions in turns; nothing of who does not lead."""
    members = sorted(each.member_id for each in joined.members)
    return [
        SyncGroupRequestAssignment(
            member_id=member, assignment=assignment(place, len(members))
        )
        for place, member in enumerate(members)
    ]


def assignment(place: int, count: int) -> bytes:
    owned = OwnedPartition(
        topic=TOPIC, partitions=list(range(place, PARTITIONS, count))
    )
    return ConsumerProtocolAssignment(assigned_partitions=[owned]).encode(0)


def check(code: int) -> None:
    if code:
        raise GoneWrong(code)


def say(*words: Any) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def stop(*_: object) -> None:
    raise Stopped


def leave(member_id: str) -> None:
    host, _, port = sys.argv[1].partition(":")
    member = MemberIdentity(member_id=member_id)
    with Connection(host, int(port)) as connection:
        request = LeaveGroupRequest(group_id=GROUP, members=[member])
        connection.request(request, LeaveGroupResponse)


def main(
    kind: type[GroupMember] = GroupMember, leave: Callable[[str], None] = leave
) -> None:
    signal.signal(signal.SIGTERM, stop)
    member_id = ""
    while True:
        try:
            member = kind(sys.argv[1])
            member.member_id = member_id
            try:
                member.run()
            except Stopped:
                # What it was about to say or hear is of no interest any more.
                leave(member.member_id)
                return
            finally:
                member_id = member.member_id
                member.connection.close()
        except (OSError, GoneWrong):  # the broker is being started
            time.sleep(0.05)


if __name__ == "__main__":
    with contextlib.suppress(Stopped):
        main()
