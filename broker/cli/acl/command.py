"""``odradek acl``: who may do what, and why.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "grant": (".grant", "let somebody do something"),
    "deny": (".deny", "forbid it, whatever else is granted"),
    "revoke": (".revoke", "take an entry back"),
    "list": (".list", "show the entries"),
    "explain": (".explain", "say whether somebody may do something, and why"),
}
# What these are called elsewhere.
ALIASES = {
    "add": "grant",
    "allow": "grant",
    "create": "grant",
    "delete": "revoke",
    "remove": "revoke",
    "describe": "list",
    "test": "explain",
    "why": "explain",
}
_EXAMPLES = (
    "odradek acl grant alice read topic 'orders-*' --group app",
    "odradek acl list alice",
    "odradek acl explain alice read topic orders-eu",
)


def command(arguments: list[str]) -> int:
    """Say who may do what: grant, deny, revoke, list and explain."""
    meant = [ALIASES.get(word, word) for word in arguments[:1]]
    given = [*meant, *arguments[1:]]
    return run_action("acl", __package__, ACTIONS, given, _EXAMPLES)
