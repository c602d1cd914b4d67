"""``odradek user list``: which users there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .describe import show
from .user_parser import user_parser

if TYPE_CHECKING:
    import argparse

    from .doors import Door

_COMMAND = "user list"
_EXAMPLES = ("odradek user list", "odradek user list --json")


def command(arguments: list[str]) -> int:
    """Name the users."""
    parser = user_parser(
        _COMMAND, "Name the users of a cluster who can log in by SCRAM.", _EXAMPLES
    )
    options = parser.parse(arguments)
    from .doors import run_at_door

    return run_at_door(_COMMAND, options, lambda door: _list(door, options))


def _list(door: Door, options: argparse.Namespace) -> int:
    found = door.describe().found
    show(found, options.json)
    if not found and not options.json:
        print("no users")
    return 0
