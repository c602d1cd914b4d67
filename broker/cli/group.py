"""``odradek group``: the groups of a cluster, what they have read, and from where on.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from importlib import import_module

from ..config.option import did_you_mean
from .parser import USAGE_ERROR, fail

ACTIONS = {
    "list": ("group_list", "name the groups, by state or type"),
    "describe": ("group_describe", "show members, committed offsets and lag"),
    "delete": ("group_delete", "remove groups without members"),
    "reset-offsets": ("group_reset", "let a group go on from other offsets"),
    "delete-offsets": ("group_delete_offsets", "forget what was committed for topics"),
}
_HELP = ("-h", "--help", "help")


def command(arguments: list[str]) -> int:
    """Show consumer groups and their lag; delete them; reset their offsets."""
    if not arguments or arguments[0] in _HELP:
        print(_overview())
        return 0 if arguments else USAGE_ERROR
    name, rest = arguments[0], arguments[1:]
    if name not in ACTIONS:
        return fail("group", USAGE_ERROR, _unknown(name))
    module = import_module(f"{__package__}.{ACTIONS[name][0]}")
    code: int = module.command(rest)
    return code


def _unknown(name: str) -> str:
    meant = did_you_mean(name, ACTIONS)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(ACTIONS)}"
    if name.startswith("-"):
        return f"say first what to do: {', '.join(ACTIONS)}"
    return f"there is no action {name}; {hint}"


def _overview() -> str:
    lines = [
        "usage: odradek group ACTION [--bootstrap-server HOST:PORT] [--json] ...",
        "",
        "actions:",
    ]
    lines += [f"  {name:<15} {summary}" for name, (_, summary) in ACTIONS.items()]
    lines += ["", "odradek group ACTION --help says more."]
    return "\n".join(lines)
