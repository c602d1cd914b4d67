"""The records of ``__cluster_metadata``, in which Apache Kafka keeps its topics.

A record's value is a frame: frame version (unsigned varint, 1), record type and its
version (unsigned varints too), then a flexible message. Declared here are the types
that say which topics there are, their partitions, all options, quotas, users, tokens,
and which producer ids were given away; the others, which are about brokers and
controllers, in `membership_records`.

The log is a history, and a snapshot (``*.checkpoint``) a state in the same records.
A topic's options are gone with the topic; a partition's leader epoch rises by one
with each change of its leader.
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from .errors import MalformedRequest
from .membership_records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    FenceBrokerRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ZkMigrationStateRecord,
)
from .primitives import read_unsigned_varint, unsigned_varint
from .schema import (
    Message,
    Struct,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    since,
    string,
    uuid,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from .primitives import Buffer

FRAME_VERSION: Final = 1
# "The leader stays", in the place of a leader.
NO_LEADER_CHANGE: Final = -2


class MetadataRecordType(IntEnum):
    """The types that Apache Kafka 4.3 knows; the missing numbers were never used."""

    REGISTER_BROKER = 0
    UNREGISTER_BROKER = 1
    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    PARTITION_CHANGE = 5
    FENCE_BROKER = 7
    UNFENCE_BROKER = 8
    REMOVE_TOPIC = 9
    DELEGATION_TOKEN = 10
    USER_SCRAM_CREDENTIAL = 11
    FEATURE_LEVEL = 12
    CLIENT_QUOTA = 14
    PRODUCER_IDS = 15
    BROKER_REGISTRATION_CHANGE = 17
    ACCESS_CONTROL_ENTRY = 18
    REMOVE_ACCESS_CONTROL_ENTRY = 19
    NO_OP = 20
    ZK_MIGRATION_STATE = 21
    REMOVE_USER_SCRAM_CREDENTIAL = 22
    BEGIN_TRANSACTION = 23
    END_TRANSACTION = 24
    ABORT_TRANSACTION = 25
    REMOVE_DELEGATION_TOKEN = 26
    REGISTER_CONTROLLER = 27
    CLEAR_ELR = 28


class ConfigResourceType(IntEnum):
    """What a `ConfigRecord` sets an option of."""

    TOPIC = 2
    BROKER = 4
    CLIENT_METRICS = 16
    GROUP = 32


class TopicRecord(Message, versions=(0, 0), flexible=0):
    """There is a topic of this name and id."""

    name: str = string()
    topic_id: bytes = uuid()


class PartitionRecord(Message, versions=(0, 2), flexible=0):
    """There is a partition. ``directories`` say in which directory each replica is."""

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    replicas: list[int] = array(of=int32)
    isr: list[int] = array(of=int32)
    removing_replicas: list[int] = array(of=int32)
    adding_replicas: list[int] = array(of=int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: list[bytes] = array(of=uuid, versions=since(1))
    eligible_leader_replicas: list[int] | None = array(
        of=int32, versions=since(2), nullable=True, default=None, tag=1
    )
    last_known_elr: list[int] | None = array(
        of=int32, versions=since(2), nullable=True, default=None, tag=2
    )


class PartitionChangeRecord(Message, versions=(0, 2), flexible=0):
    """What of a partition is different now; None stays as it is."""

    partition_id: int = int32(default=-1)
    topic_id: bytes = uuid()
    isr: list[int] | None = array(of=int32, nullable=True, default=None, tag=0)
    leader: int = int32(default=NO_LEADER_CHANGE, tag=1)
    replicas: list[int] | None = array(of=int32, nullable=True, default=None, tag=2)
    removing_replicas: list[int] | None = array(
        of=int32, nullable=True, default=None, tag=3
    )
    adding_replicas: list[int] | None = array(
        of=int32, nullable=True, default=None, tag=4
    )
    leader_recovery_state: int = int8(default=-1, tag=5)
    eligible_leader_replicas: list[int] | None = array(
        of=int32, versions=since(2), nullable=True, default=None, tag=6
    )
    last_known_elr: list[int] | None = array(
        of=int32, versions=since(2), nullable=True, default=None, tag=7
    )
    directories: list[bytes] | None = array(
        of=uuid, versions=since(1), nullable=True, default=None, tag=8
    )


class RemoveTopicRecord(Message, versions=(0, 0), flexible=0):
    """The topic is gone, its partitions and its options with it."""

    topic_id: bytes = uuid()


class ConfigRecord(Message, versions=(0, 0), flexible=0):
    """An option of a topic, of a broker or (no name) of all brokers; None: unset."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable=True)


class ProducerIdsRecord(Message, versions=(0, 0), flexible=0):
    """A broker got a block of producer ids; ``next_producer_id`` is above it."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()


class FeatureLevelRecord(Message, versions=(0, 0), flexible=0):
    """The level of a feature that the cluster has agreed on; 0: off."""

    name: str = string()
    feature_level: int = int16()


class QuotaEntityData(Struct):
    """A user, a client id or an address; None is the default of that type."""

    entity_type: str = string()
    entity_name: str | None = string(nullable=True)


class ClientQuotaRecord(Message, versions=(0, 0), flexible=0):
    """A quota of an entity, or that it has it no more."""

    entity: list[QuotaEntityData] = array()
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class UserScramCredentialRecord(Message, versions=(0, 0), flexible=0):
    """What a login of a user is checked with, by one mechanism."""

    name: str = string()
    mechanism: int = int8()
    salt: bytes = bytes_()
    stored_key: bytes = bytes_()
    server_key: bytes = bytes_()
    iterations: int = int32()


class RemoveUserScramCredentialRecord(Message, versions=(0, 0), flexible=0):
    """The user has no credential of this mechanism any more."""

    name: str = string()
    mechanism: int = int8()


class AccessControlEntryRecord(Message, versions=(0, 0), flexible=0):
    """An entry of the access control lists."""

    id: bytes = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class RemoveAccessControlEntryRecord(Message, versions=(0, 0), flexible=0):
    """The entry is gone."""

    id: bytes = uuid()


class DelegationTokenRecord(Message, versions=(0, 0), flexible=0):
    """A delegation token, or how long it holds now; its secret is in no record."""

    owner: str = string()
    requester: str = string()
    renewers: list[str] = array(of=string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


class RemoveDelegationTokenRecord(Message, versions=(0, 0), flexible=0):
    """The token is gone."""

    token_id: str = string()


class BeginTransactionRecord(Message, versions=(0, 0), flexible=0):
    """What follows counts when the transaction ends, and not if it is aborted."""

    name: str | None = string(nullable=True, default=None, tag=0)


class EndTransactionRecord(Message, versions=(0, 0), flexible=0):
    """What came since the begin counts."""


class AbortTransactionRecord(Message, versions=(0, 0), flexible=0):
    """What came since the begin counts for nothing."""

    reason: str | None = string(nullable=True, default=None, tag=0)


_CLASSES: dict[int, type[Message]] = {
    MetadataRecordType.REGISTER_BROKER: RegisterBrokerRecord,
    MetadataRecordType.UNREGISTER_BROKER: UnregisterBrokerRecord,
    MetadataRecordType.FENCE_BROKER: FenceBrokerRecord,
    MetadataRecordType.UNFENCE_BROKER: UnfenceBrokerRecord,
    MetadataRecordType.BROKER_REGISTRATION_CHANGE: BrokerRegistrationChangeRecord,
    MetadataRecordType.NO_OP: NoOpRecord,
    MetadataRecordType.ZK_MIGRATION_STATE: ZkMigrationStateRecord,
    MetadataRecordType.REGISTER_CONTROLLER: RegisterControllerRecord,
    MetadataRecordType.CLEAR_ELR: ClearElrRecord,
    MetadataRecordType.TOPIC: TopicRecord,
    MetadataRecordType.PARTITION: PartitionRecord,
    MetadataRecordType.CONFIG: ConfigRecord,
    MetadataRecordType.PARTITION_CHANGE: PartitionChangeRecord,
    MetadataRecordType.REMOVE_TOPIC: RemoveTopicRecord,
    MetadataRecordType.FEATURE_LEVEL: FeatureLevelRecord,
    MetadataRecordType.PRODUCER_IDS: ProducerIdsRecord,
    MetadataRecordType.CLIENT_QUOTA: ClientQuotaRecord,
    MetadataRecordType.USER_SCRAM_CREDENTIAL: UserScramCredentialRecord,
    MetadataRecordType.REMOVE_USER_SCRAM_CREDENTIAL: RemoveUserScramCredentialRecord,
    MetadataRecordType.ACCESS_CONTROL_ENTRY: AccessControlEntryRecord,
    MetadataRecordType.REMOVE_ACCESS_CONTROL_ENTRY: RemoveAccessControlEntryRecord,
    MetadataRecordType.DELEGATION_TOKEN: DelegationTokenRecord,
    MetadataRecordType.REMOVE_DELEGATION_TOKEN: RemoveDelegationTokenRecord,
    MetadataRecordType.BEGIN_TRANSACTION: BeginTransactionRecord,
    MetadataRecordType.END_TRANSACTION: EndTransactionRecord,
    MetadataRecordType.ABORT_TRANSACTION: AbortTransactionRecord,
}
_TYPES = {cls: record_type for record_type, cls in _CLASSES.items()}


class UnknownMetadataRecord(Exception):
    """A record of a type, or of a version, that only a newer Kafka knows."""


class MetadataRecord(NamedTuple):
    """A record's type, and what it says; None where nobody wants to know."""

    record_type: MetadataRecordType
    message: Message | None


def decode_metadata_record(
    value: "Buffer", unwanted: "Collection[MetadataRecordType]" = ()
) -> MetadataRecord:
    """What the value of a metadata record says, unless its type is ``unwanted``.

    Raises:
        UnknownMetadataRecord: a newer frame, type or version; the message has its
            number. The version of a type that is not wanted does not matter.
        MalformedRequest: it is no such record.
    """
    try:
        frame_version, position = read_unsigned_varint(value, 0)
        type_number, position = read_unsigned_varint(value, position)
        version, position = read_unsigned_varint(value, position)
    except IndexError:
        raise MalformedRequest("a metadata record that is cut short") from None
    if frame_version != FRAME_VERSION:
        raise UnknownMetadataRecord(f"a metadata record of frame {frame_version}")
    try:
        record_type = MetadataRecordType(type_number)
    except ValueError:
        raise UnknownMetadataRecord(
            f"a metadata record of type {type_number}"
        ) from None
    if record_type in unwanted:
        return MetadataRecord(record_type, None)
    cls = _CLASSES[record_type]
    if version > cls.max_version:
        raise UnknownMetadataRecord(
            f"a {cls.__name__} of version {version}, known up to {cls.max_version}"
        )
    return MetadataRecord(
        record_type, cls.decode(memoryview(value)[position:], version)
    )


def encode_metadata_record(message: Message, version: int | None = None) -> bytes:
    """The value of the record; by default in the newest version."""
    cls = type(message)
    version = cls.max_version if version is None else version
    head = map(unsigned_varint, (FRAME_VERSION, _TYPES[cls], version))
    return b"".join(head) + message.encode(version)
