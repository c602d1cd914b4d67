"""``odradek cert``: certificates are made, and shown.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "init": (".init", "make a CA and a broker's certificate"),
    "client": (".client", "make a client's certificate"),
    "reload": (".reload", "let a running broker read its certificates again"),
    "show": (".show", "show the certificates of a file, or of a listener"),
}
_EXAMPLES = (
    "odradek cert init kafka.example.com",
    "odradek cert client alice",
    "odradek cert show kafka.example.com:9093",
    "odradek cert reload --data-dir /var/lib/odradek",
)


def command(arguments: list[str]) -> int:
    """Make, show and reload certificates of brokers and clients."""
    return run_action("cert", __package__, ACTIONS, arguments, _EXAMPLES, "[--json]")
