"""Answers that wait for partitions: the purgatory and what waits in it."""
