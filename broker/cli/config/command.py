"""``odradek config``: options of a broker, of topics, of groups.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from odradek.terminal.actions import run_action

ACTIONS = {
    "show": (".show", "what a broker would start with, and who says so"),
    "describe": (".describe", "the options of a topic, broker or group"),
    "example": (".example", "a commented property file to begin with"),
    "alter": (".alter", "change options of a topic, broker or group"),
}
_EXAMPLES = (
    "odradek config show --config server.properties",
    "odradek config example > server.properties",
    "odradek config describe topic orders",
    "odradek config alter topic orders --set retention.ms=86400000",
)


def command(arguments: list[str]) -> int:
    """Show and change options."""
    return run_action("config", __package__, ACTIONS, arguments, _EXAMPLES)
