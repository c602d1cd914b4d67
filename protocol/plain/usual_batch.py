"""The check of the batch that most producers send, in plain Python.

``speedups_usual.c`` does the same ten times faster; this serves where it was not built,
and says what it does.
"""

from typing import TYPE_CHECKING, Final

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    unpack_header,
)

from .records import summarize

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNUSUAL: Final = ~TRANSACTIONAL  # the attributes that such a batch has not


def check_usual(
    batch: "Buffer",
    now_ms: int,
    before_max_ms: int,
    after_max_ms: int,
    takes_null_keys: bool,
    /,
) -> tuple[int, ...] | None:
    """The fields of the header of one whole batch, or None where it is not the usual.

    It has format v2 and begins at offset 0, is neither compressed nor a control batch,
    says of its records what is true, and its checksum holds. No record is older than
    ``before_max_ms`` or later than ``after_max_ms``, as of now.

    Raises:
        ValueError: a time span is negative.
    """
    if before_max_ms < 0 or after_max_ms < 0:
        raise ValueError("a time span is negative")
    view = memoryview(batch).cast("B")
    if len(view) < BATCH_OVERHEAD:
        return None
    header = unpack_header(view)
    base_offset, length, _, magic, crc, attributes, last_offset_delta = header[:7]
    base_timestamp, max_timestamp, producer_id, _, sequence, count = header[7:]
    if (
        base_offset
        or length + LOG_OVERHEAD != len(view)
        or magic != CURRENT_MAGIC
        or attributes & _UNUSUAL
        or count <= 0
        or count != last_offset_delta + 1
        or (producer_id >= 0 and sequence < 0)
        or crc32c(view[CHECKED_POSITION:]) != crc
    ):
        return None
    try:
        earliest, latest, _, null_key_count = summarize(
            view[BATCH_OVERHEAD:], count, base_timestamp
        )
    except ValueError:
        return None
    is_usual = (
        latest == max_timestamp
        and latest >= NO_TIMESTAMP
        and now_ms - earliest <= before_max_ms
        and latest - now_ms <= after_max_ms
        and (takes_null_keys or not null_key_count)
    )
    return header if is_usual else None
