"""``odradek secure``: a broker with TLS, logins and access control, in two commands."""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "init": (".init", "make certificates, the first user, and a file to serve with"),
    "show": (".show", "show what to paste into clients"),
}
_EXAMPLES = (
    "odradek secure init",
    "odradek serve --config secure/server.properties",
    "odradek secure show --client kafka-python",
)


def command(arguments: list[str]) -> int:
    """Make a secure broker: certificates, first user, options; show client options."""
    return run_action(
        "secure", __package__, ACTIONS, arguments, _EXAMPLES, "[--dir DIR]"
    )
