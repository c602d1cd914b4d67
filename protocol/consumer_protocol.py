"""What consumers tell each other through a classic group: subscription, assignment.

Both lie in the records of a group as bytes: a version int16, then the message. A
member may know versions that are not known here; they only ever append fields.
"""

from collections.abc import Iterable, Sequence
from struct import Struct as Layout
from typing import TypeVar

from .compiler import decoder
from .kafka_error import MalformedRequest
from .primitives import Buffer
from .schema import Message, Struct, array, bytes_, int32, since, string
from .topic_partition import TopicPartition

PROTOCOL_TYPE = "consumer"
_AN_ASSIGNMENT = "an assignment"
_VERSION = Layout(">h")
_Said = TypeVar("_Said", bound=Message)


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


def encode_subscription(topics: Sequence[str]) -> bytes:
    """What a member says that wants these topics, and owns nothing."""
    # librdkafka, as the leader of a cooperative group, crashes on version 0.
    return _encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


def encode_assignment(places: Iterable[TopicPartition]) -> bytes:
    """What a member is told that shall read these partitions."""
    return _encode(_assignment(places), 0)


def _assignment(places: Iterable[TopicPartition]) -> ConsumerProtocolAssignment:
    numbers: dict[str, list[int]] = {}
    for place in places:
        numbers.setdefault(place.topic, []).append(place.partition)
    assigned = [
        OwnedPartition(topic=name, partitions=of) for name, of in numbers.items()
    ]
    return ConsumerProtocolAssignment(assigned_partitions=assigned)


def decode_assignment(data: Buffer) -> list[TopicPartition]:
    """The partitions in a member's assignment; none when it is empty.

    What a later version appends is passed over.

    Raises:
        MalformedRequest: ``data`` is no assignment.
    """
    if not len(data):
        return []
    assignment = _decode(ConsumerProtocolAssignment, data, _AN_ASSIGNMENT)
    return [
        TopicPartition(each.topic, partition)
        for each in assignment.assigned_partitions
        for partition in each.partitions
    ]


def assignment_as_of(subscription: Buffer, places: Iterable[TopicPartition]) -> bytes:
    """What a member is told, in the version in which it has subscribed.

    Raises:
        MalformedRequest: that is no subscription.
    """
    if len(subscription) < _VERSION.size:
        raise MalformedRequest("a subscription without a version")
    (version,) = _VERSION.unpack_from(subscription)
    known = max(0, min(version, ConsumerProtocolAssignment.max_version))
    return _encode(_assignment(places), known)


def has_user_data(assignment: Buffer) -> bool:
    """Whether an assignment has more to say than which partitions it is of.

    Raises:
        MalformedRequest: it is none.
    """
    if not len(assignment):
        return False
    return bool(
        _decode(ConsumerProtocolAssignment, assignment, _AN_ASSIGNMENT).user_data
    )


def decode_subscription(data: Buffer) -> ConsumerProtocolSubscription:
    """What a member wants to read; what a later version appends is passed over.

    Raises:
        MalformedRequest: ``data`` is no subscription.
    """
    return _decode(ConsumerProtocolSubscription, data, "a subscription")


def _encode(said: Message, version: int) -> bytes:
    return _VERSION.pack(version) + said.encode(version)


def _decode(cls: type[_Said], data: Buffer, what: str) -> _Said:
    if len(data) < _VERSION.size:
        raise MalformedRequest(f"{what} without a version")
    (version,) = _VERSION.unpack_from(data)
    known = min(version, cls.max_version)
    if known < 0:
        raise MalformedRequest(f"{what} of version {version}")
    return decoder(cls, known)(memoryview(data), _VERSION.size)[0]
