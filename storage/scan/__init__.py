"""Batch after batch through the bytes of a log file, past damage."""
