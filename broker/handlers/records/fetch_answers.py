"""The answer to a Fetch; that of one partition that was read, without structs.

All such answers about a topic, in one version, differ in a few numbers and the records.
The bytes around them are what the encoder of the message wrote about a sample; they are
kept. Most consumers of a busy broker read one partition at a time.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.primitives import unsigned_varint

if TYPE_CHECKING:
    from odradek.broker.replica.partition.fetch_reader import FetchResult
    from odradek.storage.files.files import Buffer

# Before it an answer has no preferred replica.
FIRST_VERSION = 11

_ANSWERS_KEPT = 4096
# index, error_code, high_watermark, last_stable_offset, log_start_offset
NUMBERS = Struct(">ihqqq")
_SIZE = Struct(">i")
_SAMPLE = (0x7EDCBA98, 0, -0x7EDCBA987654321F, -0x7EDCBA987654321E, -0x7EDCBA987654321D)
_RECORDS = b"records"
_BEFORE_SESSION_ID, _BEHIND_SESSION_ID = 6, 10  # throttle time, error code


def is_plain(result: FetchResult) -> bool:
    """Whether the answer about it is nothing but numbers and records."""
    return not (result.error_code or result.aborted or result.diverging_epoch)


def encode_read(
    version: int,
    name: str,
    topic_id: bytes,
    index: int,
    result: FetchResult,
    session_id: int = 0,
) -> list[Buffer]:
    """The body of the answer, in buffers; that of a read without an error.

    Nothing that the reader must drop is in the records: none of the transactions
    before its last stable offset were aborted.
    """
    committed = result.aborted is not None
    before, between, after, is_flexible = around_records(
        version, name, topic_id, committed
    )
    _, high_watermark, stable_offset, log_start_offset, records, _, _, _ = result
    numbers = NUMBERS.pack(index, 0, high_watermark, stable_offset, log_start_offset)
    if session_id:
        before = (
            before[:_BEFORE_SESSION_ID]
            + _SIZE.pack(session_id)
            + before[_BEHIND_SESSION_ID:]
        )
    size = len(records)
    length = unsigned_varint(size + 1) if is_flexible else _SIZE.pack(size)
    head = before + numbers + between + length
    return [head, records, after] if after else [head, records]


@lru_cache(_ANSWERS_KEPT)
def around_records(
    version: int, name: str, topic_id: bytes, committed: bool
) -> tuple[bytes, bytes, bytes, bool]:
    """What stands before the numbers, before the records' length and behind them.

    And whether that length is a varint, of one more than it says.
    """
    index, _, high_watermark, stable_offset, log_start_offset = _SAMPLE
    partition = PartitionData(
        partition_index=index,
        high_watermark=high_watermark,
        last_stable_offset=stable_offset,
        log_start_offset=log_start_offset,
        aborted_transactions=[] if committed else None,
        records=_RECORDS,
    )
    topic = FetchableTopicResponse(
        topic=name, topic_id=topic_id, partitions=[partition]
    )
    body = FetchResponse(responses=[topic]).encode(version)
    before, numbers, rest = body.partition(NUMBERS.pack(*_SAMPLE))
    between, records, after = rest.partition(_RECORDS)
    assert numbers, "not how the message is encoded"
    assert records, "not how the message is encoded"
    is_flexible = FetchResponse.is_flexible(version)
    return before, between[: -1 if is_flexible else -_SIZE.size], after, is_flexible


def partition_data(partition: int, result: FetchResult) -> PartitionData:
    """What was read of a partition, as the answer says it."""
    data = PartitionData(
        partition_index=partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None,
        records=result.records,
    )
    if result.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(
                producer_id=each.producer_id, first_offset=each.first_offset
            )
            for each in result.aborted
        ]
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return data
