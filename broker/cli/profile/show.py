"""``odradek profile show``: what a profile says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.client.profiles import PROFILE_VARIABLE, ProfileError, profile_in_use
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument

from .file import read

if TYPE_CHECKING:
    from odradek.client.profiles import Profile

_COMMAND = "profile show"
_EXAMPLES = ("odradek profile show", "odradek profile show prod --json")


def command(arguments: list[str]) -> int:
    """Show what a profile says."""
    parser = Parser(
        _COMMAND,
        "Show what a profile says; passwords are not shown. Exit code: 0 done, 1"
        " failed, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help=f"default: ${PROFILE_VARIABLE}, or the one in use",
    )
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    current = read(_COMMAND).current
    try:
        name, profile = profile_in_use(options.name)
    except ProfileError as error:
        return fail(_COMMAND, FAILED, error)
    if name:
        is_current = name == current
        print_profile(name, profile, is_current=is_current, is_json=options.json)
    elif not options.json:
        print("no profile is in use")
    return 0


def print_profile(
    name: str, profile: Profile, *, is_current: bool, is_json: bool
) -> None:
    """All that it says, but for passwords."""
    if is_json:
        print_json({"profile": name, "current": is_current, **profile.shown()})
        return
    print(f"profile {name}{', in use' * is_current}")
    for key, value in profile.shown().items():
        print(f"  {key}={value}")
