"""``odradek pipeline sink once``: write what there is now, and stop."""

from __future__ import annotations

from .sink import run_sink


def command(arguments: list[str]) -> int:
    """Write what there is now, and stop."""
    return run_sink("once", arguments, once=True)
