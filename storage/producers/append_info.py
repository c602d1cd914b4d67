"""Who appends, and what an append did."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .state import BatchMetadata


class AppendOrigin(Enum):
    """Where a batch comes from; it decides what is checked.

    A client's batch is checked in full. A coordinator's is trusted with offsets and
    sequences, but not with epochs. What a leader sent, or the log replays, was all
    checked before. Apache Kafka knows a fourth, the leader of a Raft quorum: no broker
    of odradek is one.
    """

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


class AppendInfo(NamedTuple):
    """The offsets that a batch was given, or had been given when it is a duplicate.

    ``log_append_time_ms`` is the broker's clock on a LogAppendTime topic and -1 on
    others; for a duplicate it is the timestamp kept of the original, whatever the
    topic, as Kafka answers it. ``size`` are the bytes that were written.

    A follower appends many batches at once: ``last_offset_of_first_batch``, and
    ``offset_of_max_timestamp`` (the last offset of the batch that holds the largest
    timestamp) then differ from ``last_offset``. Both are -1 where they are not known.
    """

    base_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time_ms: int
    log_start_offset: int
    size: int = 0
    is_duplicate: bool = False
    has_rolled: bool = False
    compression: int = 0
    last_offset_of_first_batch: int = -1
    offset_of_max_timestamp: int = -1


def info_of_duplicate(stored: "BatchMetadata", log_start_offset: int) -> AppendInfo:
    """What an append of the batch that was ``stored`` had been told."""
    return AppendInfo(
        stored.base_offset,
        stored.last_offset,
        stored.timestamp,
        stored.timestamp,
        log_start_offset,
        is_duplicate=True,
    )
