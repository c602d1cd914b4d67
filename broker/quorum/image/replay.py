"""Batches of the metadata log become images, one after the other.

Invariants: an image never holds half a transaction. Its offset stays in front of one
that is open, and passes whatever says nothing. What raised is not used any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from odradek.protocol import membership_records as membership
from odradek.protocol import metadata_records as records
from odradek.protocol.control_records import ControlType, decode_key
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.metadata_records import (
    UnknownMetadataRecord,
    decode_metadata_record,
)
from odradek.protocol.quorum_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
)
from odradek.protocol.records import iterate

from . import nodes, resources, topics
from .draft import Draft
from .error import MetadataLogError
from .image import EMPTY, MetadataImage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.schema import Message

Step = Callable[[Draft, Any, int], None]

NO_TIMESTAMP: Final = -1


def _nothing(_: Draft, __: Message, ___: int) -> None:
    """For records that change nothing that anybody asks for."""


STEPS: Final[dict[type[Message], Step]] = {
    membership.RegisterBrokerRecord: nodes.register_broker,
    membership.UnregisterBrokerRecord: nodes.unregister_broker,
    membership.FenceBrokerRecord: nodes.fence_broker,
    membership.UnfenceBrokerRecord: nodes.unfence_broker,
    membership.BrokerRegistrationChangeRecord: nodes.change_broker,
    membership.RegisterControllerRecord: nodes.register_controller,
    records.FeatureLevelRecord: nodes.set_feature,
    records.TopicRecord: topics.add_topic,
    records.PartitionRecord: topics.add_partition,
    records.PartitionChangeRecord: topics.change_partition,
    records.RemoveTopicRecord: topics.remove_topic,
    membership.ClearElrRecord: topics.clear_elr,
    records.ConfigRecord: resources.set_option,
    records.ClientQuotaRecord: resources.set_quota,
    records.UserScramCredentialRecord: resources.set_credential,
    records.RemoveUserScramCredentialRecord: resources.remove_credential,
    records.AccessControlEntryRecord: resources.add_acl,
    records.RemoveAccessControlEntryRecord: resources.remove_acl,
    records.DelegationTokenRecord: resources.set_token,
    records.RemoveDelegationTokenRecord: resources.remove_token,
    records.ProducerIdsRecord: resources.give_producer_ids,
    membership.ZkMigrationStateRecord: _nothing,
    membership.NoOpRecord: _nothing,
}


class Replay:
    """Applies what is committed; `publish` makes an image of it."""

    def __init__(self, image: MetadataImage = EMPTY) -> None:
        self.image = image
        self.timestamp_ms = NO_TIMESTAMP  # of the last batch that was applied
        self._draft: Draft | None = None
        self._offset = image.offset
        self._epoch = image.epoch
        self._transaction: list[tuple[Message, int]] | None = None
        # What a snapshot's batches say of offsets means nothing.
        self._snapshot_offset: int | None = None

    def begin_snapshot(self, end_offset: int, epoch: int) -> None:
        """What is applied from now on is a state, not a change of what was."""
        self._draft = Draft(EMPTY)
        self._transaction = None
        self._offset = self._snapshot_offset = end_offset - 1
        self._epoch = epoch

    def end_snapshot(self) -> None:
        """What is applied from now on is the log behind the snapshot.

        Raises:
            MetadataLogError: the snapshot has half a transaction.
        """
        if self._transaction is not None:
            raise MetadataLogError("a snapshot ends inside a transaction")
        self._snapshot_offset = None

    def apply(self, header: BatchHeader, batch: Buffer) -> None:
        """Take in one batch.

        Raises:
            MetadataLogError: a record cannot be read, or contradicts what came before.
        """
        draft = self._draft = self._draft or Draft(self.image)
        offset, record_type = header.base_offset, "batch"
        try:
            for record in iterate(batch):
                offset = record.offset
                if header.is_control:
                    record_type = "control record"
                    self._control(draft, header, record.key, record.value)
                elif record.value is not None:
                    record_type = "record"
                    kind, message = decode_metadata_record(record.value)
                    record_type = f"{kind.name} record"
                    assert message is not None, kind
                    self._take(draft, message, offset)
        except UnknownMetadataRecord as error:
            raise MetadataLogError(
                f"offset {offset}: {error}; a newer Apache Kafka wrote it"
            ) from error
        except (KafkaError, MalformedRequest, MetadataLogError) as error:
            raise MetadataLogError(
                f"offset {offset}: {record_type}: {error}"
            ) from error
        self.timestamp_ms = header.max_timestamp
        if self._snapshot_offset is None:
            if self._transaction is None:
                self._offset = header.last_offset
            self._epoch = header.partition_leader_epoch

    def publish(self) -> MetadataImage:
        """The image of what was applied; the one before where nothing was.

        While a snapshot is applied it is the one before, too.
        """
        if self._draft is not None and self._snapshot_offset is None:
            self.image = self._draft.image(self._offset, self._epoch)
            self._draft = None
        return self.image

    def _take(self, draft: Draft, message: Message, offset: int) -> None:
        if isinstance(message, records.BeginTransactionRecord):
            if self._transaction is not None:
                raise MetadataLogError("a transaction begins inside another")
            self._transaction = []
            if self._snapshot_offset is None:
                self._offset = offset - 1
        elif isinstance(
            message, records.EndTransactionRecord | records.AbortTransactionRecord
        ):
            if self._transaction is None:
                raise MetadataLogError("a transaction ends that did not begin")
            taken, self._transaction = self._transaction, None
            if isinstance(message, records.EndTransactionRecord):
                _replay(draft, taken)
        elif self._transaction is not None:
            self._transaction.append((message, offset))
        else:
            _replay(draft, [(message, offset)])

    def _control(
        self,
        draft: Draft,
        header: BatchHeader,
        key: Buffer | None,
        value: Buffer | None,
    ) -> None:
        kind, data = decode_key(key), memoryview(value or b"")
        version = int.from_bytes(data[:2], "big", signed=True)
        if kind is ControlType.LEADER_CHANGE:
            change = LeaderChangeMessage.decode(
                data, _known(LeaderChangeMessage, version)
            )
            draft.quorum = draft.quorum._replace(
                leader_id=change.leader_id, leader_epoch=header.partition_leader_epoch
            )
        elif kind is ControlType.KRAFT_VERSION:
            level = KRaftVersionRecord.decode(data, _known(KRaftVersionRecord, version))
            draft.quorum = draft.quorum._replace(kraft_version=level.k_raft_version)
        elif kind is ControlType.KRAFT_VOTERS:
            voters = VotersRecord.decode(data, _known(VotersRecord, version))
            draft.quorum = draft.quorum._replace(voters=nodes.voters_of(voters))


def _known(cls: type[Message], version: int) -> int:
    if not 0 <= version <= cls.max_version:
        raise UnknownMetadataRecord(
            f"a {cls.__name__} of version {version}, known up to {cls.max_version}"
        )
    return version


def _replay(draft: Draft, messages: Iterable[tuple[Message, int]]) -> None:
    for message, offset in messages:
        STEPS[type(message)](draft, message, offset)
