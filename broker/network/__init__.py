"""Connections: bytes in, answers out, in order."""
