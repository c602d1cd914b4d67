"""``odradek group``: the groups of a cluster, what they have read, and from where on.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "name the groups, by state or type"),
    "describe": (".describe", "show members, committed offsets and lag"),
    "delete": (".delete", "remove groups without members"),
    "reset-offsets": (".reset", "let a group go on from other offsets"),
    "delete-offsets": (".delete_offsets", "forget what was committed for topics"),
}
_EXAMPLES = (
    "odradek group list",
    "odradek group describe billing",
    "odradek group reset-offsets billing --topic orders --to-earliest --execute",
)


def command(arguments: list[str]) -> int:
    """Show consumer groups and their lag; delete them; reset their offsets."""
    return run_action("group", __package__, ACTIONS, arguments, _EXAMPLES)
