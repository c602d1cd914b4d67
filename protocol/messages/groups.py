"""The classic group protocol: find the coordinator, join, sync, beat, leave."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    between,
    boolean,
    bytes_,
    int8,
    int16,
    int32,
    since,
    string,
    until,
)


class FindCoordinatorRequest(
    Request, api_key=ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3
):
    """Who coordinates a group (type 0), transactional id (1) or share group (2)?

    Version 4 asks for many keys at once (KIP-699).
    """

    key: str = string(versions=until(3))
    key_type: int = int8(versions=since(1))
    coordinator_keys: list[str] = array(versions=since(4))


class Coordinator(Struct):
    """The coordinator of one key, or why there is none."""

    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default="")


class FindCoordinatorResponse(
    Response, api_key=ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3
):
    """The coordinator of the key; from version 4 one for each key."""

    throttle_time_ms: int = int32(versions=since(1))
    error_code: int = int16(versions=until(3))
    error_message: str | None = string(
        versions=between(1, 3), nullable=True, default=""
    )
    node_id: int = int32(versions=until(3))
    host: str = string(versions=until(3))
    port: int = int32(versions=until(3))
    coordinators: list[Coordinator] = array(versions=since(4))


class JoinGroupRequestProtocol(Struct):
    """An assignor that the member supports, with its subscription for it."""

    name: str = string()
    metadata: Buffer = bytes_()


class JoinGroupRequest(Request, api_key=ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6):
    """Become a member, or come back for a rebalance."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(versions=since(1), default=-1)
    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(5), nullable=True, default=None
    )
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array()
    reason: str | None = string(versions=since(8), nullable=True, default=None)


class JoinGroupResponseMember(Struct):
    """A member, told to the leader only."""

    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(5), nullable=True, default=None
    )
    metadata: Buffer = bytes_()


class JoinGroupResponse(
    Response, api_key=ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6
):
    """The generation that the member is in, and who assigns the partitions."""

    throttle_time_ms: int = int32(versions=since(2))
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string(versions=since(7), nullable=True, default=None)
    protocol_name: str | None = string(nullable=since(7), default="")
    leader: str = string()
    skip_assignment: bool = boolean(versions=since(9))
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array()


class SyncGroupRequestAssignment(Struct):
    """What one member shall read."""

    member_id: str = string()
    assignment: Buffer = bytes_()


class SyncGroupRequest(Request, api_key=ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4):
    """Ask for the assignment; the leader brings it for all."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(3), nullable=True, default=None
    )
    protocol_type: str | None = string(versions=since(5), nullable=True, default=None)
    protocol_name: str | None = string(versions=since(5), nullable=True, default=None)
    assignments: list[SyncGroupRequestAssignment] = array()


class SyncGroupResponse(
    Response, api_key=ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4
):
    """What the member shall read."""

    throttle_time_ms: int = int32(versions=since(1))
    error_code: int = int16()
    protocol_type: str | None = string(versions=since(5), nullable=True, default=None)
    protocol_name: str | None = string(versions=since(5), nullable=True, default=None)
    assignment: Buffer = bytes_()


class HeartbeatRequest(Request, api_key=ApiKey.HEARTBEAT, versions=(0, 4), flexible=4):
    """The member is alive."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string(
        versions=since(3), nullable=True, default=None
    )


class HeartbeatResponse(
    Response, api_key=ApiKey.HEARTBEAT, versions=(0, 4), flexible=4
):
    """Stay, or come back for a rebalance."""

    throttle_time_ms: int = int32(versions=since(1))
    error_code: int = int16()


class MemberIdentity(Struct):
    """A member that leaves, with the reason from version 5 (KIP-800)."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable=True, default=None)
    reason: str | None = string(versions=since(5), nullable=True, default=None)


class LeaveGroupRequest(
    Request, api_key=ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4
):
    """Leave the group; from version 3 many members at once (KIP-345)."""

    group_id: str = string()
    member_id: str = string(versions=until(2))
    members: list[MemberIdentity] = array(versions=since(3))


class MemberResponse(Struct):
    """Whether one member left."""

    member_id: str = string()
    group_instance_id: str | None = string(nullable=True, default="")
    error_code: int = int16()


class LeaveGroupResponse(
    Response, api_key=ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4
):
    """What became of each member."""

    throttle_time_ms: int = int32(versions=since(1))
    error_code: int = int16()
    members: list[MemberResponse] = array(versions=since(3))
