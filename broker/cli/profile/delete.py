"""``odradek profile delete``: a name means no cluster any more."""

from __future__ import annotations

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.parser import Parser, json_argument

from .file import change

_COMMAND = "profile delete"
_EXAMPLES = ("odradek profile delete dev",)


def command(arguments: list[str]) -> int:
    """Forget a profile."""
    parser = Parser(
        _COMMAND,
        "Forget a profile; the cluster is not asked. Exit code: 0 done, 1 failed, 2"
        " usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME")
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    current = change(_COMMAND, lambda profiles: profiles.without(options.name)).current
    if options.json:
        print_json({"profile": options.name, "deleted": True})
    else:
        more = "" if current else "; no profile is in use"
        print(f"{options.name}: deleted{more}")
    return 0
