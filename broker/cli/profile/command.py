"""``odradek profile``: clusters by name, of which one is in use.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "create": (".create", "give a cluster a name, and use it"),
    "list": (".list", "name the profiles"),
    "use": (".use", "choose the one that commands use"),
    "show": (".show", "show what a profile says"),
    "delete": (".delete", "forget a profile"),
}
_EXAMPLES = (
    "odradek profile create prod --bootstrap-server kafka-1:9092,kafka-2:9092",
    "odradek profile use prod",
    "odradek topic list --profile prod",
)


def command(arguments: list[str]) -> int:
    """Name clusters, and choose the one that commands use."""
    return run_action("profile", __package__, ACTIONS, arguments, _EXAMPLES, "[--json]")
