"""Requests that write, read and find records."""
