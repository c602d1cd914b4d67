"""What Apache Kafka's own metadata say: the state that ``__cluster_metadata-0`` tells.

The newest whole snapshot is read, then the log behind it. All of the log counts: what
a voter had not yet agreed on when it stopped would have been agreed on later. Damage
inside is refused rather than passed over: a removal that is missed would bring a
topic back, and an option that is missed may delete records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Final

from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.control_records import ControlType, decode_key
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
from odradek.storage.scan.batch_scan import BatchScan

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.schema import Message
    from odradek.storage.files.files import Files
    from odradek.storage.scan.result import Recovery

METADATA_DIRECTORY: Final = "__cluster_metadata-0"
ALL_BROKERS: Final = ""

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)


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
        _, message = decode_metadata_record(value)
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
    names = files.listdir(directory)
    snapshots = sorted(filter(_SNAPSHOT.fullmatch, names), reverse=True)
    metadata, next_offset = ClusterMetadata(), 0
    for name in snapshots:
        found = _read_snapshot(files, directory / name, notes)
        if found is not None:
            metadata, next_offset = found, int(name[:20])
            break
    segments = sorted(filter(_SEGMENT.fullmatch, names))
    if not segments and not next_offset:
        raise AdoptionError(f"{directory} has neither a snapshot nor a log")
    for name in segments:
        is_last = name == segments[-1]
        next_offset = _replay_segment(
            files, directory / name, metadata, next_offset, notes if is_last else None
        )
    return metadata


def _read_snapshot(
    files: Files, path: Path, notes: list[str]
) -> ClusterMetadata | None:
    """The state in a snapshot; None, with a note, for one that is not whole."""
    scan = BatchScan(files.open(path), 0, 0)
    batches = [(header, batch) for _, header, batch in scan]
    if not scan.recovery().is_clean or not any(starmap(_is_footer, batches)):
        notes.append(f"{path} is not a whole snapshot; an older one is used")
        return None
    metadata = ClusterMetadata()
    for header, batch in batches:
        if not header.is_control:
            _apply_batch(metadata, path, header, batch)
    return metadata


def _is_footer(header: BatchHeader, batch: memoryview) -> bool:
    return header.is_control and any(
        decode_key(record.key) is ControlType.SNAPSHOT_FOOTER
        for record in iterate(batch)
    )


def _replay_segment(
    files: Files,
    path: Path,
    metadata: ClusterMetadata,
    next_offset: int,
    notes: list[str] | None,
) -> int:
    """Apply the segment's records from ``next_offset`` on; where the next begins.

    ``notes`` take a torn tail, which only the last segment may have.
    """
    scan = BatchScan(files.open(path), 0, int(path.name[:20]))
    for _, header, batch in scan:
        if header.next_offset <= next_offset:
            continue  # the snapshot has it
        if header.base_offset != next_offset:
            break
        if not header.is_control:
            _apply_batch(metadata, path, header, batch)
        next_offset = header.next_offset
    else:
        _check_end(path, scan.recovery(), notes)
        return next_offset
    for _ in scan:  # to its end, to tell damage from what was never there
        pass
    _check_end(path, scan.recovery(), notes)
    raise AdoptionError(f"{path}: what was at offset {next_offset} is missing")


def _check_end(path: Path, recovery: Recovery, notes: list[str] | None) -> None:
    damaged = [(each.start, each.end) for each in recovery.damaged]
    if notes is None and recovery.is_torn:
        damaged.append((recovery.valid_end, recovery.size))
    for start, end in damaged:
        raise AdoptionError(f"{path} is damaged at positions {start} to {end}")
    if notes is not None and recovery.is_torn:
        notes.append(
            f"{path} has a torn tail at position {recovery.valid_end}, which is left"
            " out"
        )


def _apply_batch(
    metadata: ClusterMetadata, path: Path, header: BatchHeader, batch: memoryview
) -> None:
    try:
        for record in iterate(batch):
            if record.value is not None:
                metadata.apply(record.value)
    except UnknownMetadataRecord as error:
        raise AdoptionError(
            f"{path} was written by a newer Kafka: {error}, at offset"
            f" {header.base_offset}"
        ) from error
    except (MalformedRequest, KafkaError, AdoptionError) as error:
        raise AdoptionError(
            f"{path}, batch at offset {header.base_offset}: {error}"
        ) from error


def find_metadata_directory(path: Path) -> Path | None:
    """The directory of the metadata log in, or at, ``path``."""
    candidates = (path / METADATA_DIRECTORY, path)
    for candidate in candidates:
        if candidate.name == METADATA_DIRECTORY and candidate.is_dir():
            return candidate
    return None
