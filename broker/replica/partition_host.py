"""What partitions ask of the replica manager, which hosts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from storage.unified_log import UnifiedLog

    from .partition import Partition
    from .replication import Cluster


class PartitionHost(Protocol):
    """What a partition asks of the replica manager."""

    bounds_by_durability: bool
    cluster: Cluster | None  # None: every partition has one replica

    def create_log(self, partition: Partition) -> UnifiedLog:
        """Make the log of a partition that was never written."""

    def record_written(self, partition: Partition) -> None:
        """See that the catalogue knows, then call ``on_written``."""

    def check_waiting(self, partition: Partition) -> None:
        """The high watermark or the durable offset moved, or something is over."""

    def check_all_waiting(self, partition: Partition) -> None:
        """The same, and for who waits for records to be deleted."""

    def check_log_end_fetches(self, partition: Partition) -> None:
        """The log end moved."""

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        """Sync the partition in ``delay_ms`` at the latest."""
