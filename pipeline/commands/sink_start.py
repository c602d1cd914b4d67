"""``odradek pipeline sink start``: run a streaming job until it is stopped."""

from __future__ import annotations

from .sink import run_sink


def command(arguments: list[str]) -> int:
    """Run a streaming job until it is stopped."""
    return run_sink("start", arguments, once=False)
