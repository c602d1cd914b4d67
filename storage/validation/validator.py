"""Is this a batch that may be stored? And what must change in it before it is.

A produced batch is checked from the outside in, and refused at the first thing that
is wrong: shape (one whole batch, magic 2), size, checksum, header, records. What a
client claims about its records is never stored unless it is true: the maximum
timestamp is computed from them, the time type is the topic's, the codec is the
topic's. Most batches need none of that and are stored as the client's own bytes.

Departures from Apache Kafka: offsets inside a batch that are not 0, 1, 2 ... and
payloads that cannot be decompressed are INVALID_RECORD (it renumbers, or answers
UNKNOWN_SERVER_ERROR); a delete horizon, which only the cleaner may set, is removed.
"""

from enum import Enum
from typing import Final, NamedTuple

from odradek.protocol.compression import DecompressedTooLarge, decompress
from odradek.protocol.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
)
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    COMPRESSION_GZIP,
    COMPRESSION_LZ4,
    COMPRESSION_MASK,
    COMPRESSION_NONE,
    COMPRESSION_ZSTD,
    CURRENT_MAGIC,
    HAS_DELETE_HORIZON,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    check_crc,
    codec_id,
    read_header,
    restamp_time,
)
from odradek.protocol.records import RecordsSummary, assemble, iterate, summarize
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import Buffer
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_config import LogConfig

_MAGIC_END: Final = 17
_OLD_BATCH_LENGTH_MIN: Final = 14
_ERRORS_SHOWN: Final = 3
_NOT_THE_CLIENTS: Final = LOG_APPEND_TIME | HAS_DELETE_HORIZON
# What is not larger than that may be any number of times what came.
_RATIO_FREE_SIZE: Final = 1 << 20
_NO_KEY: Final = (
    "Compacted topic cannot accept message without key in topic partition {}"
)


class Flaw(Enum):
    """What is wrong with a batch that no correct client sends; it is counted."""

    MAGIC = "invalidmagicnumber"
    CHECKSUM = "invalidmessagecrc"
    OFFSET_OR_SEQUENCE = "invalidoffsetorsequence"


class RatioTooHigh(DecompressedTooLarge):
    """The records of a batch unpack to more times its size than they may."""


class NotOneBatch(InvalidRecord):
    """The bytes are not one whole batch, so that there is nothing to look into."""


class OldFormat(NotOneBatch):
    """The batch has a format before v2."""

    flaw = Flaw.MAGIC


class NoBatch(CorruptMessage):
    """A length or a format that no batch can have."""


class UnknownFormat(NoBatch):
    """The batch has a format that does not exist yet."""

    flaw = Flaw.MAGIC


class WrongChecksum(CorruptMessage):
    """The batch was changed on its way."""

    flaw = Flaw.CHECKSUM


class WrongOffsetOrSequence(InvalidRecord):
    """The header counts its records wrong, or a producer its batches."""

    flaw = Flaw.OFFSET_OR_SEQUENCE


class RecordValidationError:
    """Some records of a batch are refused, and with them the batch.

    ``record_errors`` names each of them: its index in the batch, and why;
    ``keyless_count`` of them have no key, in a topic where they need one.
    """

    record_errors: list[tuple[int, str]]
    keyless_count = 0


class InvalidRecords(RecordValidationError, InvalidRecord):
    """Records that this topic does not take."""

    def __init__(self, record_errors: list[tuple[int, str]]) -> None:
        shown = ", ".join(
            f"RecordError(batchIndex={index}, message='{message}')"
            for index, message in record_errors[:_ERRORS_SHOWN]
        )
        super().__init__(
            f"One or more records have been rejected due to {len(record_errors)} record"
            " errors in total, and only showing the first three errors at most:"
            f" [{shown}]"
        )
        self.record_errors = record_errors


class InvalidTimestamps(RecordValidationError, InvalidTimestamp):
    """Records that are too old or too far in the future for this topic."""

    def __init__(self, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(
            "One or more records have been rejected due to invalid timestamp"
        )
        self.record_errors = record_errors


class ValidBatch(NamedTuple):
    """A batch ready to be stamped with its offset and written.

    ``header`` still has the timestamps that the client sent; those in ``batch``,
    and ``max_timestamp``, are true.
    """

    batch: memoryview
    header: BatchHeader
    max_timestamp: int
    log_append_time_ms: int


def validate(
    data: Buffer,
    config: LogConfig,
    now_ms: int,
    origin: AppendOrigin,
    topic_partition: TopicPartition,
) -> ValidBatch:
    """The batch in ``data`` as it is to be stored. May change ``data`` in place.

    Raises:
        InvalidRecord: not one whole batch, or records that the topic refuses
            (`InvalidRecords`, which lists them).
        InvalidTimestamp: records out of the topic's bounds (`InvalidTimestamps`).
        CorruptMessage: impossible lengths, or a wrong checksum.
        MessageTooLarge: more than ``max.message.bytes``, as sent or as stored.
    """
    batch, header = delimit(data)
    _check_size(len(batch), config)
    if not check_crc(batch, header):
        raise WrongChecksum(f"the checksum of a batch for {topic_partition} is wrong")
    check_header(header, origin)
    payload: Buffer = batch[BATCH_OVERHEAD:]
    codec = header.compression
    if codec != COMPRESSION_NONE:
        payload = _decompressed(codec, payload, config)
    summary = summarize(payload, header.records_count, header.base_timestamp)
    _check_records(batch, summary, config, now_ms, topic_partition)
    target = _target_codec(header, config)
    if target != codec:
        batch, header = _recompressed(header, payload, target, config)
        _check_size(len(batch), config)
    elif batch.readonly:
        batch = memoryview(bytearray(batch))
    if config.is_log_append_time:
        _stamp_time(batch, header, LOG_APPEND_TIME, now_ms)
        return ValidBatch(batch, header, now_ms, now_ms)
    # A record may be from before the epoch (Apache Kafka takes it); a batch may not.
    max_timestamp = max(summary.max_timestamp, NO_TIMESTAMP)
    _stamp_time(batch, header, 0, max_timestamp)
    return ValidBatch(batch, header, max_timestamp, NO_TIMESTAMP)


def delimit(data: Buffer) -> tuple[memoryview, BatchHeader]:
    """The one batch in ``data``, without the beginning of another that was cut.

    Raises:
        NotOneBatch: no whole batch, more than one, or of a format before v2.
        NoBatch: a length or a format that no batch can have.
    """
    view = memoryview(data)
    if len(view) >= BATCH_OVERHEAD:  # nearly always it is just one batch
        header = read_header(view)
        is_whole = header.batch_length + LOG_OVERHEAD == len(view)
        if is_whole and header.magic == CURRENT_MAGIC:
            return view, header
    size = _batch_size(view)
    if size < 0:
        raise NotOneBatch("there is no whole batch in the record set")
    if view[_MAGIC_END - 1] != CURRENT_MAGIC:
        raise OldFormat(
            f"the batch has format v{view[_MAGIC_END - 1]}; only v2 is taken"
        )
    if size < BATCH_OVERHEAD:
        raise NoBatch(f"a batch of {size} bytes is shorter than its header")
    if size != len(view):
        if _batch_size(view[size:]) >= 0:
            raise NotOneBatch("there is more than one batch in the record set")
        view = view[:size]
    return view, read_header(view)


def check_header(header: BatchHeader, origin: AppendOrigin) -> None:
    """Refuse a header that contradicts itself, or says what ``origin`` may not.

    What is replayed was compacted, perhaps, and need not count its records right.

    Raises:
        InvalidRecord: always this.
    """
    if origin is AppendOrigin.REPLICATION:
        return
    count = header.records_count
    if count <= 0 or count != header.last_offset_delta + 1:
        raise WrongOffsetOrSequence(
            f"the batch says it has {count} records and {header.last_offset_delta}"
            " as the last offset delta"
        )
    if origin is not AppendOrigin.CLIENT:
        return
    if header.base_offset != 0:
        raise WrongOffsetOrSequence(
            f"the base offset of a produced batch is {header.base_offset}, not 0"
        )
    if header.is_control:
        raise InvalidRecord("a client may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise WrongOffsetOrSequence(
            f"producer {header.producer_id} sent sequence {header.base_sequence}"
        )


def _batch_size(view: memoryview) -> int:
    """The size of the first batch, -1 when it is not all there."""
    available = len(view)
    if available < LOG_OVERHEAD:
        return -1
    length = int.from_bytes(view[8:LOG_OVERHEAD], "big", signed=True)
    if length < _OLD_BATCH_LENGTH_MIN:
        raise NoBatch(
            f"a batch length of {length} is less than the smallest possible,"
            f" {_OLD_BATCH_LENGTH_MIN}"
        )
    if available < _MAGIC_END:
        return -1
    magic = view[_MAGIC_END - 1]
    if magic > CURRENT_MAGIC:
        raise UnknownFormat(f"Invalid magic found in record: {magic}")
    size = LOG_OVERHEAD + length
    return size if size <= available else -1


def _check_size(size: int, config: LogConfig) -> None:
    if size > config.max_message_bytes:
        raise MessageTooLarge(
            f"a batch of {size} bytes, max.message.bytes is {config.max_message_bytes}"
        )


def _decompressed(codec: int, payload: Buffer, config: LogConfig) -> Buffer:
    size_max = config.decompressed_max_bytes
    ratio_max, is_bound_by_ratio = config.decompressed_ratio_max, False
    if ratio_max:
        allowed = max(ratio_max * len(payload), _RATIO_FREE_SIZE)
        is_bound_by_ratio = allowed < size_max
        size_max = min(size_max, allowed)
    try:
        return decompress(codec, payload, size_max)
    except DecompressedTooLarge as error:
        if is_bound_by_ratio:
            raise RatioTooHigh(
                f"{error} A batch may unpack to {ratio_max} times its size."
            ) from error
        raise
    except CorruptMessage as error:
        # The checksum was right, so sending it again, as a client does after
        # CORRUPT_MESSAGE, would not help.
        raise InvalidRecord(str(error)) from error


def _check_records(
    batch: memoryview,
    summary: RecordsSummary,
    config: LogConfig,
    now_ms: int,
    topic_partition: TopicPartition,
) -> None:
    """Refuse null keys and timestamps that the topic does not take.

    The summary says that there may be such records; only then are they looked at
    one by one.
    """
    is_keyless = summary.has_null_key and config.is_compacted
    in_time = config.is_log_append_time or (
        now_ms - summary.min_timestamp <= config.message_timestamp_before_max_ms
        and summary.max_timestamp - now_ms <= config.message_timestamp_after_max_ms
    )
    if in_time and not is_keyless:
        return
    errors: list[tuple[int, str]] = []
    keyless_count = 0
    for index, record in enumerate(iterate(_as_create_time(batch))):
        if record.key is None and config.is_compacted:
            keyless_count += 1
            errors.append((index, _NO_KEY.format(topic_partition)))
        elif not in_time and not _is_in_time(record.timestamp, config, now_ms):
            errors.append((index, _time_error(index, record.timestamp, config, now_ms)))
    if errors:
        has_bad_time = len(errors) > keyless_count
        refused = InvalidTimestamps(errors) if has_bad_time else InvalidRecords(errors)
        refused.keyless_count = keyless_count
        raise refused


def _is_in_time(timestamp: int, config: LogConfig, now_ms: int) -> bool:
    if timestamp == NO_TIMESTAMP:
        return True
    return (
        now_ms - timestamp <= config.message_timestamp_before_max_ms
        and timestamp - now_ms <= config.message_timestamp_after_max_ms
    )


def _time_error(index: int, timestamp: int, config: LogConfig, now_ms: int) -> str:
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    return (
        f"Timestamp {timestamp} of message with offset {index} is out of range."
        f" The timestamp should be within [{earliest}, {latest}]"
    )


def _as_create_time(batch: memoryview) -> Buffer:
    """The batch, whose records then show their own times whatever its header says."""
    header = read_header(batch)
    if not header.is_log_append_time:
        return batch
    copy = bytearray(batch)
    restamp_time(copy, header.attributes & ~LOG_APPEND_TIME, header.max_timestamp)
    return copy


def _target_codec(header: BatchHeader, config: LogConfig) -> int:
    name = config.compression_type
    if name == "producer":
        return header.compression
    if name == "uncompressed" or header.is_control:
        return COMPRESSION_NONE
    return codec_id(name)


def _recompressed(
    header: BatchHeader, payload: Buffer, codec: int, config: LogConfig
) -> tuple[memoryview, BatchHeader]:
    """The batch with another codec; offsets, times and producer stay."""
    header = header._replace(attributes=header.attributes & ~COMPRESSION_MASK | codec)
    batch = memoryview(assemble(header, payload, _level(codec, config)))
    return batch, header


def _level(codec: int, config: LogConfig) -> int | None:
    levels = {
        COMPRESSION_GZIP: config.compression_gzip_level,
        COMPRESSION_LZ4: config.compression_lz4_level,
        COMPRESSION_ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def _stamp_time(
    batch: memoryview, header: BatchHeader, time_type: int, max_timestamp: int
) -> None:
    attributes = header.attributes & ~_NOT_THE_CLIENTS | time_type
    if attributes != header.attributes or max_timestamp != header.max_timestamp:
        restamp_time(batch, attributes, max_timestamp)
