"""Where a partition's leader is now, told along with an error (KIP-951).

Shared by the answers of Produce (from version 10) and Fetch (from 12 and 16).
"""

from odradek.protocol.schema import Struct, int32, string


class LeaderIdAndEpoch(Struct):
    """The leader that a client should ask instead. -1 where it is unknown."""

    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class NodeEndpoint(Struct):
    """The address of a broker that the same answer names as a leader."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable=True, default=None)
