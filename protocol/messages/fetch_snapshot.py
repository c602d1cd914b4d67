"""FetchSnapshot: a state of the metadata log, piece by piece, from its leader.

A piece may begin and end anywhere in a batch. The request says how much is there
already, the answer how much there is in all (KIP-630).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int16,
    int32,
    int64,
    since,
    string,
    struct,
    uint16,
    uuid,
)


class SnapshotLeader(Struct):
    """The leader that should be asked instead."""

    leader_id: int = int32()
    leader_epoch: int = int32()


class WantedSnapshotId(Struct):
    """Up to which offset the snapshot goes, and the epoch of its last batch."""

    end_offset: int = int64()
    epoch: int = int32()


class PartitionSnapshot(Struct):
    """The snapshot that is wanted, and how much of it is there."""

    partition: int = int32()
    current_leader_epoch: int = int32()
    snapshot_id: WantedSnapshotId = struct()
    position: int = int64()
    replica_directory_id: bytes = uuid(versions=since(1), tag=0)


class TopicSnapshot(Struct):
    """The partitions of one topic: there is one."""

    name: str = string()
    partitions: list[PartitionSnapshot] = array()


class FetchSnapshotRequest(
    Request, api_key=ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0
):
    """Send the next piece of a snapshot."""

    cluster_id: str | None = string(nullable=True, default=None, tag=0)
    replica_id: int = int32(default=-1)
    max_bytes: int = int32(default=0x7FFFFFFF)
    topics: list[TopicSnapshot] = array()


class SnapshotEndpoint(Struct):
    """The address of a leader."""

    node_id: int = int32()
    host: str = string()
    port: int = uint16()


class PartitionSnapshotPiece(Struct):
    """A piece, where it begins, and the size of the whole."""

    index: int = int32()
    error_code: int = int16()
    snapshot_id: WantedSnapshotId = struct()
    current_leader: SnapshotLeader = struct(tag=0)
    size: int = int64()
    position: int = int64()
    unaligned_records: Buffer = bytes_()


class TopicSnapshotPiece(Struct):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[PartitionSnapshotPiece] = array()


class FetchSnapshotResponse(
    Response, api_key=ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0
):
    """A piece of a snapshot. Version 1 has addresses (KIP-853)."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[TopicSnapshotPiece] = array()
    node_endpoints: list[SnapshotEndpoint] = array(versions=since(1), tag=0)
