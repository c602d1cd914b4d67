"""What the group coordinator writes into ``__consumer_offsets``, in Kafka's format.

The layouts are those of `protocol.group_records`; here is what they mean to a
coordinator. Those of consumer groups (KIP-848) are in `consumer.records`, those of
share groups (KIP-932) in `share.records`, those of streams groups (KIP-1071) in
`streams.records`. Records of other kinds are passed over when a log is loaded, and
stay in it.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from odradek.protocol.errors import InvalidRecord, MalformedRequest
from odradek.protocol.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer

    from .consumer.records import ConsumerRecord
    from .share.records import ShareRecord
    from .streams.records import StreamsRecord


OFFSET_KEYS = (0, 1)
OFFSET_KEY = 1
GROUP_KEY = 2
CONSUMER_KEYS = frozenset((3, 4, 5, 6, 7, 8, 16))
SHARE_KEYS = frozenset((10, 11, 12, 13, 14, 15))
STREAMS_KEYS = frozenset((17, 19, 20, 21, 22, 23))

NO_EXPIRY = -1
ZERO_UUID = bytes(16)

# Versions as Apache Kafka 4.3 writes them; only version 1 of an offset's value can
# say when the offset expires.
_GROUP_VERSION = 3
_OFFSET_VERSION = 4
_OFFSET_VERSION_WITH_EXPIRY = 1

_INT16 = Struct(">h")
# An offset as most of them are, by hand: a tenth of the time that messages take,
# and there may be millions to load. A key is an int16 of its kind, two strings and
# the partition; values are those of version 4 with a topic id, and of version 3,
# without metadata, as versions, offset, leader epoch, (length of the metadata),
# commit timestamp, (number of tagged fields, tag, size, topic id).
KEY_HEAD = Struct(">hh")
NAME_LENGTH = _INT16
PARTITION = Struct(">i")
VALUE_4 = Struct(">hqiBqBBB16s")
VALUE_4_FIXED = (4, 1, 1, 0, 16)  # a compact length is one more than the length
_VALUE_3 = Struct(">hqihq")
_VALUE_4_SIZE, _VALUE_3_SIZE = VALUE_4.size, _VALUE_3.size
_unpack_4 = VALUE_4.unpack
_new = tuple.__new__
_Value = TypeVar("_Value", OffsetCommitValue, GroupMetadataValue)


class CommittedOffset(NamedTuple):
    """Where a group is in one partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = -1
    expire_timestamp: int = NO_EXPIRY
    topic_id: bytes = ZERO_UUID


class OffsetRecord(NamedTuple):
    """A group's offset of a partition; ``committed`` None: it is gone."""

    group_id: str
    topic: str
    partition: int
    committed: CommittedOffset | None

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        group, topic = self.group_id.encode(), self.topic.encode()
        encoded = b"".join(
            (
                KEY_HEAD.pack(OFFSET_KEY, len(group)),
                group,
                _INT16.pack(len(topic)),
                topic,
                PARTITION.pack(self.partition),
            )
        )
        committed = self.committed
        if committed is None:
            return encoded, None
        offset, leader_epoch, metadata, timestamp, expiry, topic_id = committed
        if not metadata and expiry == NO_EXPIRY and topic_id != ZERO_UUID:
            return encoded, VALUE_4.pack(
                _OFFSET_VERSION, offset, leader_epoch, 1, timestamp, 1, 0, 16, topic_id
            )
        version = _OFFSET_VERSION
        if expiry != NO_EXPIRY:
            version = _OFFSET_VERSION_WITH_EXPIRY
        value = OffsetCommitValue(**committed._asdict())
        return encoded, _INT16.pack(version) + value.encode(version)


class GroupRecord(NamedTuple):
    """A classic group after a rebalance; ``value`` None: it is gone."""

    group_id: str
    value: GroupMetadataValue | None

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        key = GroupMetadataKey(group=self.group_id)
        encoded = _INT16.pack(GROUP_KEY) + key.encode(0)
        if self.value is None:
            return encoded, None
        return encoded, _INT16.pack(_GROUP_VERSION) + self.value.encode(_GROUP_VERSION)


def decode(
    key: Buffer, value: Buffer | None
) -> OffsetRecord | GroupRecord | ConsumerRecord | ShareRecord | StreamsRecord | None:
    """The record; None for one of another kind.

    Raises:
        InvalidRecord: it is cut short, or of a version that is not known.
    """
    try:
        usual = _usual_offset(key, value)
        if usual is not None:
            return usual
        kind, rest = _version(key)
        if kind in OFFSET_KEYS:
            return _offset(OffsetCommitKey.decode(rest, 0), value)
        if kind == GROUP_KEY:
            group = GroupMetadataKey.decode(rest, 0).group
            return GroupRecord(group, _decoded(GroupMetadataValue, value))
        if kind in CONSUMER_KEYS:
            from .consumer.records import decode_consumer  # few logs have any

            return decode_consumer(kind, rest, value)
        if kind in SHARE_KEYS:
            from .share.records import decode_share  # fewer have these

            return decode_share(kind, rest, value)
        if kind in STREAMS_KEYS:
            from .streams.records import decode_streams

            return decode_streams(kind, rest, value)
    except (MalformedRequest, error) as cause:
        raise InvalidRecord(f"a record of a coordinator: {cause}") from cause
    return None


def _usual_offset(key: Buffer, value: Buffer | None) -> OffsetRecord | None:
    """The record, if it is an offset as most of them are."""
    if type(key) is not bytes or type(value) is not bytes:
        return None
    size = len(value)
    if size == _VALUE_4_SIZE:
        found = _unpack_4(value)
        version, offset, epoch, one, timestamp, count, tag, tag_size, topic_id = found
        if (version, one, count, tag, tag_size) != VALUE_4_FIXED:
            return None
    elif size == _VALUE_3_SIZE:
        version, offset, epoch, length, timestamp = _VALUE_3.unpack(value)
        if version != 3 or length:
            return None
        topic_id = ZERO_UUID
    else:
        return None
    kind, length = KEY_HEAD.unpack_from(key)
    topic_at = 6 + length
    if kind not in OFFSET_KEYS or length < 0:
        return None
    (length,) = _INT16.unpack_from(key, topic_at - 2)
    end = topic_at + length
    if length < 0 or end + 4 != len(key):
        return None
    try:
        group, topic = key[4 : topic_at - 2].decode(), key[topic_at:end].decode()
    except UnicodeDecodeError:
        return None
    (partition,) = PARTITION.unpack_from(key, end)
    committed = _new(
        CommittedOffset, (offset, epoch, "", timestamp, NO_EXPIRY, topic_id)
    )
    return _new(OffsetRecord, (group, topic, partition, committed))


def _offset(key: OffsetCommitKey, value: Buffer | None) -> OffsetRecord:
    found = _decoded(OffsetCommitValue, value)
    committed = None
    if found is not None:
        committed = CommittedOffset(
            found.offset,
            found.leader_epoch,
            found.metadata,
            found.commit_timestamp,
            found.expire_timestamp,
            found.topic_id,
        )
    return OffsetRecord(key.group, key.topic, key.partition, committed)


def _decoded(cls: type[_Value], value: Buffer | None) -> _Value | None:
    if value is None:
        return None
    version, rest = _version(value)
    if not cls.min_version <= version <= cls.max_version:
        raise InvalidRecord(f"version {version} of {cls.__name__} is not known")
    return cls.decode(rest, version)


def _version(data: Buffer) -> tuple[int, memoryview]:
    view = memoryview(data)
    return _INT16.unpack_from(view)[0], view[2:]
