"""Offset, time and transaction indexes: sorted entries in files. Over files."""
