"""Records on their way into a batch of one partition, and the batch that they became.

A batch keeps its sequence for ever: it is sent again as it is, and split into halves
that have the sequences of their records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import MessageTooLarge
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    next_sequence,
    read_header,
)
from odradek.protocol.records import assemble, encode_record

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from odradek.protocol.records import NewRecord
    from odradek.protocol.topic_partition import TopicPartition

_NO_LIMIT = 1 << 62


class ProducerIdentity(NamedTuple):
    """Who writes: the id that a broker gave, and its epoch, which fences older ones."""

    producer_id: int
    producer_epoch: int


NOBODY = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class BatchFormat(NamedTuple):
    """How batches are made: the codec, its level or None, and for a transaction."""

    compression: int = 0
    compression_level: int | None = None
    is_transactional: bool = False


class SealedBatch(NamedTuple):
    """A batch as it is sent, and sent again."""

    place: TopicPartition
    data: bytearray
    records_count: int
    base_sequence: int


class EncodedRecords(NamedTuple):
    """Records as they are in a batch; their offsets count from 0."""

    payload: Buffer
    records_count: int
    base_timestamp: int
    max_timestamp: int


class BatchBuilder:
    """Takes records for one partition until they are ``size_max`` bytes."""

    def __init__(self, place: TopicPartition, size_max: int, since_s: float) -> None:
        self.place = place
        self.since_s = since_s
        self.size = BATCH_OVERHEAD
        self._size_max = size_max
        self._pieces: list[bytes] = []
        self._base_timestamp = 0
        self._max_timestamp = 0

    def __len__(self) -> int:
        return len(self._pieces)

    def try_add(self, record: NewRecord) -> bool:
        """Take one record more, unless it has no room; the first always has."""
        pieces = self._pieces
        timestamp = record.timestamp
        if not pieces:
            self._base_timestamp = self._max_timestamp = timestamp
        piece = encode_record(len(pieces), timestamp - self._base_timestamp, record)
        size = self.size + len(piece)
        if pieces and size > self._size_max:
            return False
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        pieces.append(piece)
        self.size = size
        return True

    def records(self) -> EncodedRecords:
        """Those that it has taken."""
        return EncodedRecords(
            b"".join(self._pieces),
            len(self._pieces),
            self._base_timestamp,
            self._max_timestamp,
        )

    def seal(
        self, form: BatchFormat, identity: ProducerIdentity, base_sequence: int
    ) -> SealedBatch:
        """The batch of them; see `seal_records`."""
        return seal_records(self.place, self.records(), form, identity, base_sequence)


def seal_records(
    place: TopicPartition,
    records: EncodedRecords,
    form: BatchFormat,
    identity: ProducerIdentity,
    base_sequence: int,
) -> SealedBatch:
    """The batch of records; a sequence is only that of a producer that has an id."""
    has_id = identity.producer_id != NO_PRODUCER_ID
    attributes = form.compression
    if form.is_transactional:
        attributes |= TRANSACTIONAL
    header = BatchHeader(
        base_offset=0,
        batch_length=0,  # it and the checksum: see `assemble`
        partition_leader_epoch=NO_LEADER_EPOCH,
        magic=CURRENT_MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=records.records_count - 1,
        base_timestamp=records.base_timestamp,
        max_timestamp=records.max_timestamp,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=base_sequence if has_id else NO_SEQUENCE,
        records_count=records.records_count,
    )
    data = assemble(header, records.payload, form.compression_level)
    return SealedBatch(place, data, records.records_count, base_sequence)


def split(batch: SealedBatch, compression_level: int | None) -> list[SealedBatch]:
    """Two halves of a batch that the broker found too large.

    Raises:
        MessageTooLarge: it is a single record.
    """
    from odradek.protocol.records import NewRecord, iterate

    if batch.records_count == 1:
        raise MessageTooLarge
    header = read_header(batch.data)
    form = BatchFormat(
        header.compression, compression_level, bool(header.attributes & TRANSACTIONAL)
    )
    identity = ProducerIdentity(header.producer_id, header.producer_epoch)
    records = list(iterate(batch.data))
    middle = len(records) // 2
    halves = []
    for first, part in (0, records[:middle]), (middle, records[middle:]):
        builder = BatchBuilder(batch.place, _NO_LIMIT, 0)
        for record in part:
            builder.try_add(
                NewRecord(record.key, record.value, record.timestamp, record.headers)
            )
        sequence = next_sequence(batch.base_sequence, first)
        halves.append(builder.seal(form, identity, sequence))
    return halves
