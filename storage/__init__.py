"""The log engine: partitions as segments and indexes on disk. Never waits."""
