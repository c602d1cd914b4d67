"""Members of groups on bare connections, for the benchmarks of groups."""

from dataclasses import dataclass

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, error_class
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

TYPE, PROTOCOL = "consumer", "range"
AT_ONCE = 3  # the last version of JoinGroup that asks for no member id first
HEARTBEAT_VERSION = 4
COMMIT_VERSION = 9


@dataclass
class Member:
    """A member of a group, on a connection of its own."""

    connection: Connection
    group: str
    member_id: str = ""
    generation_id: int = -1

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

    def join(self, version: int | None = None) -> None:
        """Join; where the broker wants that, come back with the id that it gives."""
        while True:
            request = self.join_request()
            response = self.connection.request(request, JoinGroupResponse, version)
            if self.take(response):
                return

    def join_request(self) -> JoinGroupRequest:
        protocol = JoinGroupRequestProtocol(name=PROTOCOL, metadata=bytes(20))
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type=TYPE,
            protocols=[protocol],
        )

    def take(self, response: JoinGroupResponse) -> bool:
        """Note what a join has brought; False when it has to be done again."""
        retried = (
            ErrorCode.MEMBER_ID_REQUIRED,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.NOT_COORDINATOR,
        )
        if response.error_code and response.error_code not in retried:
            raise error_class(response.error_code)
        self.member_id = response.member_id
        self.generation_id = response.generation_id
        return not response.error_code

    def sync(self, *assigned: str) -> None:
        """Ask for the assignment; the leader names the members."""
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type=TYPE,
            protocol_name=PROTOCOL,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=bytes(20))
                for each in assigned
            ],
        )
        code = self.connection.request(request, SyncGroupResponse).error_code
        if code:
            raise error_class(code)

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation_id,
            member_id=self.member_id,
        )

    def commit_frame(self, topic: str, partitions: range, offset: int) -> bytes:
        """The bytes of an OffsetCommit."""
        wanted = [
            OffsetCommitRequestPartition(
                partition_index=each, committed_offset=offset, committed_metadata=""
            )
            for each in partitions
        ]
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=wanted)],
        )
        return encode_request(request, COMMIT_VERSION, 1, "load")


def alone(port: int, group: str) -> Member:
    """The only member of a new group, which is stable."""
    member = Member(Connection("127.0.0.1", port), group)
    member.find_coordinator()
    member.join()
    member.sync(member.member_id)
    return member


def pair(port: int, group: str) -> tuple[Member, Member]:
    """Both members of a new group, which is stable."""
    first = Member(Connection("127.0.0.1", port), group)
    first.find_coordinator()
    first.join(AT_ONCE)
    second = Member(Connection("127.0.0.1", port), group)
    request = second.join_request()
    second.connection.send(request, AT_ONCE)
    # The first one leads: while both are in doubt, it joins until they are together.
    generation_id = first.generation_id
    while first.generation_id == generation_id:
        first.join(AT_ONCE)
    _, answer = second.connection.receive(request.api_key, AT_ONCE)
    assert isinstance(answer, JoinGroupResponse)
    second.take(answer)
    first.sync(first.member_id, second.member_id)
    second.sync()
    return first, second
