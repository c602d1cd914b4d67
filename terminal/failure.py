"""How a command fails: one line of what is wrong, and an exit code."""

from __future__ import annotations

import sys

FAILED = 1
USAGE_ERROR = 2


def fail(command: str, code: int, message: object) -> int:
    """Say in one line why a command fails, and return its exit code."""
    line = " ".join(str(message).split())
    print(f"odradek {command}: {line}", file=sys.stderr)
    return code
