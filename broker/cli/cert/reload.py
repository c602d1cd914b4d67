"""``odradek cert reload``: the running broker reads keys and certificates again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.admin.asking import add_asking_arguments, run, shown
from odradek.terminal.failure import FAILED
from odradek.terminal.parser import Parser
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

_COMMAND = "cert reload"
_EXAMPLES = (
    "odradek cert reload",
    "odradek cert reload --data-dir /var/lib/odradek --json",
)


def command(arguments: list[str]) -> int:
    """Let a running broker read its certificates again."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _reload(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let the running broker read its keys, certificates and CAs again, and say "
        "what came of it. Who is connected stays so; a listener whose files cannot be "
        "used keeps what it has. Exit code: 0 all could be used, 1 not, 2 usage.",
        _EXAMPLES,
    )
    add_asking_arguments(parser)
    return parser


def _reload(options: argparse.Namespace) -> int:
    code = 0
    for told in shown(options, {"request": "reload-certificates"}, _text):
        if told["outcome"] == "failed":
            code = FAILED
    return code


def _text(told: dict[str, Any]) -> str:
    """One listener in one line."""
    days, subject = told["daysLeft"], printable(told["subject"])
    text = f"{told['listener']}: {told['outcome']}: {subject}, for another {days} days"
    if told["outcome"] == "failed":
        reason = printable(told["reason"])
        text = (
            f"{told['listener']}: keeps what it has, for another {days} days: {reason}"
        )
    return text
