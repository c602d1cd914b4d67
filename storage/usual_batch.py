"""Recognises, in one step, the batch that nearly every producer sends.

Format v2, not compressed, no control batch, its header true, its records in time, for
a topic that stores batches as they came: nothing of it has to be changed. What is not
that, or not right, is for `log_validator` to judge, which would pass the same batch
unchanged: there alone is said what is wrong, and what is put right.
"""

from protocol.record_batch import NO_TIMESTAMP, BatchHeader

from .files import Buffer
from .log_config import LogConfig
from .log_validator import ValidBatch

try:
    from protocol.speedups import check_usual
except ImportError:  # installed where there was no compiler
    from protocol.usual_batch_plain import check_usual

# NamedTuple's own constructor costs twice as much as the tuple.
_new = tuple.__new__


def usual_batch(data: Buffer, config: LogConfig, now_ms: int) -> ValidBatch | None:
    """The batch in ``data`` as `log_validator.validate` returns it, or None: ask there.

    One call of C, because each in the path of a request costs 0.1 to 0.3 µs: 0.8 µs
    instead of 5.5 for 100 bytes.
    """
    if type(data) is not memoryview or data.readonly:
        return None
    if (
        config.compression_type != "producer"
        or config.message_timestamp_type != "CreateTime"
        or len(data) > config.max_message_bytes
    ):
        return None
    header = check_usual(
        data,
        now_ms,
        config.message_timestamp_before_max_ms,
        config.message_timestamp_after_max_ms,
        "compact" not in config.cleanup_policy,
    )
    if header is None:
        return None
    fields = data, _new(BatchHeader, header), header[8], NO_TIMESTAMP
    return _new(ValidBatch, fields)
