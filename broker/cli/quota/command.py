"""``odradek quota``: what users, client ids and addresses may take of a cluster.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "show all quotas, or those of some"),
    "describe": (".describe", "show the quotas of one entity"),
    "set": (".set", "set quotas"),
    "remove": (".remove", "remove quotas"),
}
_EXAMPLES = (
    "odradek quota list",
    "odradek quota set --user alice producer_byte_rate=1048576",
    "odradek quota remove --user alice",
)


def command(arguments: list[str]) -> int:
    """Show, set and remove quotas of users, client ids and addresses."""
    return run_action("quota", __package__, ACTIONS, arguments, _EXAMPLES)
