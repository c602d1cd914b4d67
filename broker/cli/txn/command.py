"""``odradek txn``: the transactions of a cluster, and how those end that hang.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "name the transactional ids, by state, producer or age"),
    "describe": (".describe", "show transactions and their partitions"),
    "abort": (".abort", "abort a transaction, and shut its producer out"),
    "find-hanging": (".find_hanging", "find what is open in logs for too long"),
}
_EXAMPLES = (
    "odradek txn list",
    "odradek txn describe import-7",
    "odradek txn find-hanging",
)


def command(arguments: list[str]) -> int:
    """Show transactions and what they hold up; abort them."""
    return run_action("txn", __package__, ACTIONS, arguments, _EXAMPLES)
