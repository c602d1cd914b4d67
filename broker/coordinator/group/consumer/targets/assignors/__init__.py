"""Which member of a consumer group shall read which partitions. Pure functions."""
