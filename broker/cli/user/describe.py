"""``odradek user describe``: how users may log in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.failure import FAILED
from odradek.terminal.table import table

from .near_user import refuse_user
from .user_parser import user_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from odradek.client.scram import Credential

    from .doors import Door

_COMMAND = "user describe"
_HEAD = ("USER", "MECHANISM", "ITERATIONS")
_EXAMPLES = ("odradek user describe alice", "odradek user describe alice bob --json")


def command(arguments: list[str]) -> int:
    """Show how users may log in."""
    parser = user_parser(
        _COMMAND,
        "Show by which mechanisms users may log in. Passwords are not known to"
        " anybody, and their hashes are never shown.",
        _EXAMPLES,
    )
    parser.add_argument("user", nargs="+", metavar="USER")
    options = parser.parse(arguments)
    from .doors import run_at_door

    return run_at_door(_COMMAND, options, lambda door: _describe(door, options))


def _describe(door: Door, options: argparse.Namespace) -> int:
    users = door.describe(list(dict.fromkeys(options.user)))
    show(users.found, options.json)
    for name, error in users.failed.items():
        refuse_user(_COMMAND, door, error, name)
    return FAILED if users.failed else 0


def show(found: Mapping[str, Sequence[Credential]], is_json: bool) -> None:
    """Print users with their credentials; nothing where there are none."""
    if is_json:
        for name, credentials in found.items():
            known = [each._asdict() for each in credentials]
            print_json({"user": name, "credentials": known})
    elif found:
        rows = [(name, *each) for name, of in found.items() for each in of]
        print("\n".join(table(_HEAD, rows)))
