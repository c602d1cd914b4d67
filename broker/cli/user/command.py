"""``odradek user``: the users of a cluster who log in by SASL/SCRAM.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "name the users"),
    "describe": (".describe", "show how users may log in"),
    "set": (".set", "give a user a password (create and passwd are the same)"),
    "remove": (".remove", "let a user log in no more (delete is the same)"),
}
# What these are called elsewhere.
ALIASES = {"add": "set", "create": "set", "passwd": "set", "delete": "remove"}
_EXAMPLES = (
    "odradek user list",
    "odradek user set alice",
    "odradek user set alice --generate --data-dir /var/lib/odradek",
    "odradek user remove alice",
)


def command(arguments: list[str]) -> int:
    """Show users who log in by SASL/SCRAM; set and remove their passwords."""
    meant = [ALIASES.get(word, word) for word in arguments[:1]]
    given = [*meant, *arguments[1:]]
    return run_action("user", __package__, ACTIONS, given, _EXAMPLES)
