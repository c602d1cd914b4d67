"""Segments of a data directory, found, planned, read. Over records."""
