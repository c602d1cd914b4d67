"""``odradek cert``: certificates of brokers.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "reload": (".reload", "let a running broker read its certificates again"),
}
_EXAMPLES = ("odradek cert reload --data-dir /var/lib/odradek",)


def command(arguments: list[str]) -> int:
    """Let a running broker read its certificates again."""
    return run_action("cert", __package__, ACTIONS, arguments, _EXAMPLES, "[--json]")
