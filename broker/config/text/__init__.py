"""Patterns as clients write them (RE2)."""
