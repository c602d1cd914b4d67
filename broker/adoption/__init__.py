"""Directories of Apache Kafka become ours: surveyed, checked, taken over.

Over metadata.
"""
