"""``odradek mirror``: topics of another cluster, copied as they are.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "add": (".add", "begin to copy topics of another cluster"),
    "status": (".status", "show mirrors, and how far they are"),
    "promote": (".promote", "end the copying of topics: they can be written to"),
    "remove": (".remove", "forget a mirror whose topics are promoted"),
}
_EXAMPLES = (
    "odradek mirror add old --from kafka-1:9092 --topics 'orders.*'",
    "odradek mirror status",
    "odradek mirror promote old",
    "odradek mirror remove old",
)


def command(arguments: list[str]) -> int:
    """Copy topics of another cluster as they are, and take them over."""
    shared = "[--data-dir DIR] [--json]"
    return run_action("mirror", __package__, ACTIONS, arguments, _EXAMPLES, shared)
