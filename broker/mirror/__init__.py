"""Mirrors: topics of another cluster are copied as they are, and follow it."""
