"""What Apache Kafka's own metadata say: the state that ``__cluster_metadata-0`` tells.

Read here is what can be taken over; `quorum.metadata_directory` says how the files are
read, and `image.replay` reads all there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.metadata_directory import read_metadata_log
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.metadata_records import (
    NO_LEADER_CHANGE,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    ConfigResourceType,
    DelegationTokenRecord,
    EndTransactionRecord,
    MetadataRecordType,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnknownMetadataRecord,
    UserScramCredentialRecord,
    decode_metadata_record,
)
from odradek.protocol.records import iterate
from odradek.protocol.uuids import to_text

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.schema import Message
    from odradek.storage.files.files import Files

ALL_BROKERS: Final = ""

# Of brokers and controllers nothing is taken over, whatever a newer Kafka says of them.
_UNWANTED = (
    MetadataRecordType.REGISTER_BROKER,
    MetadataRecordType.UNREGISTER_BROKER,
    MetadataRecordType.FENCE_BROKER,
    MetadataRecordType.UNFENCE_BROKER,
    MetadataRecordType.BROKER_REGISTRATION_CHANGE,
    MetadataRecordType.NO_OP,
    MetadataRecordType.ZK_MIGRATION_STATE,
    MetadataRecordType.REGISTER_CONTROLLER,
    MetadataRecordType.CLEAR_ELR,
)


class AdoptionError(Exception):
    """A directory cannot be taken over; the message is one line that says why."""


@dataclass
class PartitionMetadata:
    """Where the replicas of a partition are, broker by broker, and its epoch."""

    replicas: list[int]
    directories: list[bytes]
    leader_epoch: int


@dataclass
class TopicMetadata:
    """A topic as the metadata know it."""

    name: str
    topic_id: bytes
    partitions: dict[int, PartitionMetadata] = field(default_factory=dict)

    @property
    def partition_count(self) -> int:
        """How many partitions the topic has."""
        return max(self.partitions, default=-1) + 1


class ClusterMetadata:
    """The state that records lead to, one after the other."""

    def __init__(self) -> None:
        self.topics: dict[bytes, TopicMetadata] = {}
        self.topic_options: dict[str, dict[str, str]] = {}
        # By broker id as text; ALL_BROKERS has the options that hold for all of them.
        self.broker_options: dict[str, dict[str, str]] = {}
        self.group_options: dict[str, dict[str, str]] = {}
        self.client_metrics_options: dict[str, dict[str, str]] = {}
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        # By user, then by the number of the mechanism.
        self.credentials: dict[str, dict[int, ScramCredential]] = {}
        self.acls: dict[bytes, AclEntry] = {}  # by the id that Kafka gives each
        self.tokens: dict[str, DelegationToken] = {}
        self.next_producer_id = 0
        self._transaction: list[Message] | None = None

    def apply(self, value: bytes) -> None:
        """Take in one record.

        Raises:
            UnknownMetadataRecord, MalformedRequest: it cannot be read.
            AdoptionError: it contradicts what came before.
        """
        _, message = decode_metadata_record(value, _UNWANTED)
        if message is None:
            return
        if isinstance(message, BeginTransactionRecord):
            self._transaction = []
        elif isinstance(message, AbortTransactionRecord):
            self._transaction = None
        elif isinstance(message, EndTransactionRecord):
            records, self._transaction = self._transaction or [], None
            for each in records:
                self._replay(each)
        elif self._transaction is not None:
            self._transaction.append(message)
        else:
            self._replay(message)

    def _replay(self, message: Message) -> None:
        if isinstance(message, TopicRecord):
            topic = TopicMetadata(message.name, message.topic_id)
            self.topics[topic.topic_id] = topic
        elif isinstance(message, PartitionRecord):
            self._topic(message.topic_id).partitions[message.partition_id] = (
                PartitionMetadata(
                    message.replicas, message.directories, message.leader_epoch
                )
            )
        elif isinstance(message, PartitionChangeRecord):
            self._change_partition(message)
        elif isinstance(message, RemoveTopicRecord):
            topic = self._topic(message.topic_id)
            del self.topics[topic.topic_id]
            self.topic_options.pop(topic.name, None)
        elif isinstance(message, ConfigRecord):
            self._set_option(message)
        elif isinstance(message, ProducerIdsRecord):
            self.next_producer_id = message.next_producer_id
        else:
            self._replay_of_clients(message)

    def _replay_of_clients(self, message: Message) -> None:
        if isinstance(message, ClientQuotaRecord):
            names = {each.entity_type: each.entity_name for each in message.entity}
            quotas = self.quotas.setdefault(QuotaEntity.of(names), {})
            quotas.pop(message.key, None)
            if not message.remove:
                quotas[message.key] = message.value
        elif isinstance(message, UserScramCredentialRecord):
            credentials = self.credentials.setdefault(message.name, {})
            credentials[message.mechanism] = ScramCredential(
                message.iterations,
                bytes(message.salt),
                bytes(message.stored_key),
                bytes(message.server_key),
            )
        elif isinstance(message, RemoveUserScramCredentialRecord):
            self.credentials.get(message.name, {}).pop(message.mechanism, None)
        elif isinstance(message, AccessControlEntryRecord):
            self.acls[message.id] = AclEntry(
                message.resource_type,
                message.resource_name,
                message.pattern_type,
                message.principal,
                message.host,
                message.operation,
                message.permission_type,
            )
        elif isinstance(message, RemoveAccessControlEntryRecord):
            self.acls.pop(message.id, None)
        elif isinstance(message, DelegationTokenRecord):
            self.tokens[message.token_id] = DelegationToken(
                message.token_id,
                message.owner,
                message.requester,
                tuple(message.renewers),
                message.issue_timestamp,
                message.expiration_timestamp,
                message.max_timestamp,
            )
        elif isinstance(message, RemoveDelegationTokenRecord):
            self.tokens.pop(message.token_id, None)

    def _topic(self, topic_id: bytes) -> TopicMetadata:
        try:
            return self.topics[topic_id]
        except KeyError:
            raise AdoptionError(
                f"a record about topic {to_text(topic_id)}, which does not exist"
            ) from None

    def _change_partition(self, change: PartitionChangeRecord) -> None:
        topic = self._topic(change.topic_id)
        partition = topic.partitions.get(change.partition_id)
        if partition is None:
            raise AdoptionError(
                f"a record about {topic.name}-{change.partition_id}, which does not"
                " exist"
            )
        if change.leader != NO_LEADER_CHANGE:
            partition.leader_epoch += 1
        if change.replicas is not None:
            partition.replicas = change.replicas
        if change.directories is not None:
            partition.directories = change.directories

    def _set_option(self, record: ConfigRecord) -> None:
        options_by_name = {
            ConfigResourceType.TOPIC: self.topic_options,
            ConfigResourceType.BROKER: self.broker_options,
            ConfigResourceType.GROUP: self.group_options,
            ConfigResourceType.CLIENT_METRICS: self.client_metrics_options,
        }.get(record.resource_type)  # type: ignore[call-overload]
        if options_by_name is None:
            return
        options = options_by_name.setdefault(record.resource_name, {})
        if record.value is None:
            options.pop(record.name, None)
        else:
            options[record.name] = record.value


def read_cluster_metadata(
    files: Files, directory: Path, notes: list[str]
) -> ClusterMetadata:
    """The state that the snapshots and segments in ``directory`` lead to.

    Raises:
        AdoptionError: something is damaged, missing, or of a newer version.
    """
    try:
        return read_metadata_log(files, directory, notes, _Reader).metadata
    except MetadataLogError as error:
        raise AdoptionError(str(error)) from error


class _Reader:
    """Takes in the batches that a directory has."""

    def __init__(self) -> None:
        self.metadata = ClusterMetadata()

    def begin_snapshot(self, _end_offset: int, _epoch: int) -> None:
        """A state comes before all else."""

    def end_snapshot(self) -> None:
        """The log goes on from it."""

    def apply(self, header: BatchHeader, batch: memoryview) -> None:
        """Take in the records of a batch; those of the quorum say nothing here."""
        if header.is_control:
            return
        try:
            for record in iterate(batch):
                if record.value is not None:
                    self.metadata.apply(record.value)
        except UnknownMetadataRecord as error:
            raise MetadataLogError(
                f"written by a newer Kafka: {error}, at offset {header.base_offset}"
            ) from error
        except (MalformedRequest, KafkaError, AdoptionError) as error:
            raise MetadataLogError(
                f"batch at offset {header.base_offset}: {error}"
            ) from error
