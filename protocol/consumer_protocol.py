"""What consumers tell each other through a classic group: subscription, assignment.

Both lie in the records of a group as bytes: a version int16, then the message. A
member may know versions that are not known here; they only ever append fields.
"""

from .schema import Message, Struct, array, bytes_, int32, since, string

PROTOCOL_TYPE = "consumer"


class OwnedPartition(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(of=int32)


class ConsumerProtocolSubscription(Message, versions=(0, 3)):
    """What a member wants to read, and what it has been reading (KIP-429, KIP-881)."""

    topics: list[str] = array()
    user_data: bytes | None = bytes_(nullable=True, default=None)
    owned_partitions: list[OwnedPartition] = array(versions=since(1))
    generation_id: int = int32(versions=since(2), default=-1)
    rack_id: str | None = string(versions=since(3), nullable=True, default=None)


class ConsumerProtocolAssignment(Message, versions=(0, 3)):
    """What a member has been given to read."""

    assigned_partitions: list[OwnedPartition] = array()
    user_data: bytes | None = bytes_(nullable=True, default=None)
