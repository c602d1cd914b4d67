"""Recognises, in one step, the batch that nearly every producer sends.

Format v2, not compressed, no control batch, its header true, its records in time, for
a topic that stores batches as they came: nothing of it has to be changed. What is not
that, or not right, is for `log_validator` to judge, which would pass the same batch
unchanged: there alone is said what is wrong, and what is put right.
"""

from typing import Final

from protocol.checksum import crc32c
from protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    unpack_header,
)
from protocol.records import sum_up

from .files import Buffer
from .log_config import LogConfig
from .log_validator import ValidBatch

_UNUSUAL: Final = ~TRANSACTIONAL  # the attributes that such a batch has not
# NamedTuple's own constructor costs twice as much as the tuple.
_new = tuple.__new__


def usual_batch(data: Buffer, config: LogConfig, now_ms: int) -> ValidBatch | None:
    """The batch in ``data`` as `log_validator.validate` returns it, or None: ask there.

    One function of straight tests, because each call in the path of a request costs
    0.3 µs: 2.3 µs instead of 5.5 for 100 bytes.
    """
    size = len(data)
    if size < BATCH_OVERHEAD or type(data) is not memoryview or data.readonly:
        return None
    header = unpack_header(data)
    base_offset, length, _, magic, crc, attributes, last_offset_delta = header[:7]
    if magic != CURRENT_MAGIC or attributes & _UNUSUAL or length + LOG_OVERHEAD != size:
        return None
    if config.compression_type != "producer" or size > config.max_message_bytes:
        return None
    base_timestamp, max_timestamp, producer_id, _, sequence, count = header[7:]
    if config.message_timestamp_type != "CreateTime":
        return None
    if base_offset or count <= 0 or count != last_offset_delta + 1:
        return None
    if (producer_id >= 0 and sequence < 0) or crc32c(data[CHECKED_POSITION:]) != crc:
        return None
    try:
        earliest, latest, _, null_key_count = sum_up(
            data[BATCH_OVERHEAD:], count, base_timestamp
        )
    except ValueError:
        return None
    if latest != max_timestamp or latest < NO_TIMESTAMP:
        return None
    if (
        now_ms - earliest > config.message_timestamp_before_max_ms
        or latest - now_ms > config.message_timestamp_after_max_ms
        or (null_key_count and "compact" in config.cleanup_policy)
    ):
        return None
    batch_header = _new(BatchHeader, header)
    return _new(ValidBatch, (data, batch_header, max_timestamp, NO_TIMESTAMP))
