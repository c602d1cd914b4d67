"""Where the batch is in the Produce that most clients send, in plain Python.

``speedups_produce.c`` does the same; this serves where it was not built, and says what
it does.
"""

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.primitives import read_unsigned_varint
from odradek.protocol.record_batch import ATTRIBUTES_LOW_POSITION, TRANSACTIONAL

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BEGINNING = Struct(">4xiH")  # API and version; correlation id, size of the client's
_ID_POSITION = 8  # of the client's id, its length first
_TO_TRANSACTIONAL_ID = 11  # its length, tags
_TO_TOPIC = 19  # the same, and no transactional id, acks, timeout, one topic
_EMPTY = 1  # a length that is said: it is one more than it is
_LONG = 0x80  # of a length: one of more bytes
_BEHIND_TOPIC_ID = 21  # from its beginning: one partition, index
_BEHIND_TOPIC_NAME = 5
_NO_TAGS = b"\0\0\0"  # of partition, topic and request, behind the batch


def find_usual_batch(
    frame: "Buffer", by_id: bool, /
) -> tuple[int, bytes, int, int] | None:
    """Correlation id, what stands before the batch, and where that begins and ends.

    What stands before is from the client's id to the partition's index. It is not
    looked at: the places are those of a request with one topic and one partition, and
    right if that is what these bytes say. None where it cannot be so, and where a
    transactional id stands before a batch of no transaction, or the other way round.
    ``by_id``: topics are said by their ids.
    """
    data = memoryview(frame).cast("B")
    try:
        correlation_id, client_id_size = _BEGINNING.unpack_from(data)
        id_length = data[client_id_size + _TO_TRANSACTIONAL_ID]
        topic = client_id_size + _TO_TOPIC + max(0, id_length - 1)
        end = topic + (_BEHIND_TOPIC_ID if by_id else data[topic] + _BEHIND_TOPIC_NAME)
        size, start = read_unsigned_varint(data, end)
        attributes = data[start + ATTRIBUTES_LOW_POSITION]
    except (IndexError, MalformedRequest, struct_error):
        return None
    stop = start + size - 1
    if (
        id_length == _EMPTY
        or id_length >= _LONG
        or stop <= start + ATTRIBUTES_LOW_POSITION
        or bool(attributes & TRANSACTIONAL) != bool(id_length)
        or data[stop:] != _NO_TAGS
    ):
        return None
    return correlation_id, bytes(data[_ID_POSITION:end]), start, stop
