"""What went through a partition since the start, for who watches the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .partition import Partition


class Traffic(NamedTuple):
    """Bytes and records that were appended, bytes that consumers were given; requests
    that wanted one or the other, and those of them that failed.

    ``bytes_rejected`` are those of batches that were too large.
    """

    bytes_in: int = 0
    bytes_out: int = 0
    messages_in: int = 0
    bytes_rejected: int = 0
    produces: int = 0
    failed_produces: int = 0
    fetches: int = 0
    failed_fetches: int = 0

    def plus(self, other: Traffic) -> Traffic:
        """The sums of both."""
        return Traffic._make(a + b for a, b in zip(self, other, strict=True))


NO_TRAFFIC = Traffic()


def traffic_of(partition: Partition) -> Traffic:
    """What went through ``partition``."""
    log, refused = partition.log, partition.refused
    return Traffic(
        0 if log is None else log.appended_bytes,
        0 if log is None else log.fetched_bytes,
        0 if log is None else log.log_end_offset - log.opened_end_offset,
        0 if refused is None else refused.rejected_bytes,
        partition.append_count + (0 if refused is None else refused.count),
        0 if refused is None else refused.failed_count,
        partition.fetch_count,
        partition.failed_fetch_count,
    )
