"""Schemas of values: a registry of them, and values that are written by one."""
