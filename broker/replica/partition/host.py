"""What a partition asks of who hosts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.storage.log.unified_log import UnifiedLog

    from .partition import Partition
    from .replication import Cluster


class PartitionHost(Protocol):
    """The replica manager, as a partition sees it."""

    bounds_by_durability: bool
    cluster: Cluster | None  # None: every partition has one replica

    def begin_log(self, partition: Partition) -> UnifiedLog:
        """The log of a partition of which the catalogue does not know it is written."""

    def record_written(self, partition: Partition) -> None:
        """See that the catalogue knows, then call ``on_written``."""

    def check_waiting(self, partition: Partition) -> None:
        """The high watermark or the durable offset moved, or something is over."""

    def check_all_waiting(self, partition: Partition) -> None:
        """The same, and for who waits for records to be deleted, or to be seen."""

    def check_log_end_fetches(self, partition: Partition) -> None:
        """The log end moved."""

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        """Sync the partition in ``delay_ms`` at the latest."""
