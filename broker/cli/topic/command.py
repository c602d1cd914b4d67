"""``odradek topic``: the topics of a cluster.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "create": (".create", "make a topic"),
    "list": (".list", "name the topics"),
    "describe": (".describe", "show partitions, leaders, offsets and options"),
    "alter": (".alter", "add partitions, change options"),
    "delete": (".delete", "delete topics with all their records"),
    "delete-records": (".delete_records", "delete the oldest records"),
}
_EXAMPLES = (
    "odradek topic create orders --partitions 3",
    "odradek topic list",
    "odradek topic describe orders --json",
)


def command(arguments: list[str]) -> int:
    """Make, show, change and delete topics."""
    return run_action("topic", __package__, ACTIONS, arguments, _EXAMPLES)
