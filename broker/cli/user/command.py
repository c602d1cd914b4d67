"""``odradek user``: the users of a cluster who log in by SASL/SCRAM.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "name the users"),
    "describe": (".describe", "show how users may log in"),
    "set": (".set", "give a user a password"),
    "remove": (".remove", "let a user log in no more"),
}
_EXAMPLES = (
    "odradek user list",
    "odradek user set alice < password.txt",
    "odradek user remove alice",
)


def command(arguments: list[str]) -> int:
    """Show users who log in by SASL/SCRAM; set and remove their passwords."""
    return run_action("user", __package__, ACTIONS, arguments, _EXAMPLES)
