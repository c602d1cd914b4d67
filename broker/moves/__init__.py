"""Partitions move between log directories while they are used. Over compaction."""
