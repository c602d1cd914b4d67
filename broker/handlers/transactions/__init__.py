"""Requests of transactional and idempotent producers."""
