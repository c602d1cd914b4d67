"""``odradek token``: delegation tokens, with which others log in for us.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "list": (".list", "show tokens, and until when they hold"),
    "create": (".create", "make a token, and print what logs in with it"),
    "renew": (".renew", "let a token hold for longer"),
    "expire": (".expire", "end a token, now or soon"),
}
_EXAMPLES = (
    "odradek token create --renewer User:bob",
    "odradek token list",
    "odradek token renew ID",
    "odradek token expire ID",
)


def command(arguments: list[str]) -> int:
    """Lend a login: make, show, renew and end delegation tokens."""
    return run_action("token", __package__, ACTIONS, arguments, _EXAMPLES)
