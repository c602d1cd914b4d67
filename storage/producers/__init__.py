"""Producers of a partition: sequences, transactions, snapshots."""
