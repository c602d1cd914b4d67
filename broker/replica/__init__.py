"""Partitions, the replica manager, and what waits in purgatory."""
