"""``odradek cluster``: the nodes of a cluster, and how they are.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "describe": (
        ".describe",
        "show brokers, controllers, features, and partitions in trouble",
    ),
    "watch": (".watch", "show what changes, as the controllers decide it"),
}
_EXAMPLES = (
    "odradek cluster describe",
    "odradek cluster describe --bootstrap-controller controller-1:9093",
    "odradek cluster watch --bootstrap-controller controller-1:9093",
)


def command(arguments: list[str]) -> int:
    """Show the brokers and controllers of a cluster, and how they are."""
    return run_action("cluster", __package__, ACTIONS, arguments, _EXAMPLES)
