"""``odradek profile use``: which profile commands use when they name none."""

from __future__ import annotations

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.parser import Parser, json_argument

from .file import change

_COMMAND = "profile use"
_EXAMPLES = ("odradek profile use prod", "odradek profile use --none")


def command(arguments: list[str]) -> int:
    """Choose the one that commands use."""
    parser = Parser(
        _COMMAND,
        "Choose the profile that commands use when they name none. Exit code: 0 done,"
        " 1 failed, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", nargs="?", default="", metavar="NAME")
    parser.add_argument("--none", action="store_true", help="none of them")
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    if bool(options.name) == options.none:
        parser.error("say which profile, or --none")
    current = change(_COMMAND, lambda profiles: profiles.using(options.name)).current
    if options.json:
        print_json({"current": current or None})
    else:
        print(f"{current}: in use" if current else "no profile is in use")
    return 0
