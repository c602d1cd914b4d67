"""``odradek profile list``: which profiles there are."""

from __future__ import annotations

from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.table import table

from .file import read
from .show import print_profile

_COMMAND = "profile list"
_HEAD = ("PROFILE", "IN USE", "BROKERS", "REGISTRY")
_EXAMPLES = ("odradek profile list", "odradek profile list --json")


def command(arguments: list[str]) -> int:
    """Name the profiles."""
    parser = Parser(
        _COMMAND,
        "Name the profiles, and say which one is in use. Exit code: 0 done, 1 failed,"
        " 2 usage.",
        _EXAMPLES,
    )
    json_argument(parser, "one JSON object a line")
    options = parser.parse(arguments)
    profiles = read(_COMMAND)
    rows = []
    for name, profile in sorted(profiles.known.items()):
        is_current = name == profiles.current
        if options.json:
            print_profile(name, profile, is_current=is_current, is_json=True)
        shown = profile.shown()
        mark = "yes" if is_current else None
        rows.append((name, mark, shown.get("bootstrap_servers"), shown.get("registry")))
    if not options.json:
        print("\n".join(table(_HEAD, rows)) if rows else "no profiles")
    return 0
