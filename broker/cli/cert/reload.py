"""``odradek cert reload``: the running broker reads keys and certificates again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.pipe import quiet_pipe
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
    from odradek.broker.cli.node.admin_client import AdminRefusal

    try:
        with quiet_pipe():
            return _reload(options)
    except AdminRefusal as error:
        return fail(_COMMAND, FAILED, printable(str(error)))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let the running broker read its keys, certificates and CAs again, and say "
        "what came of it. Who is connected stays so; a listener whose files cannot be "
        "used keeps what it has. Exit code: 0 all could be used, 1 not, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="the data directory of the broker (default ./data)",
    )
    json_argument(parser, "one JSON object a line")
    return parser


def _reload(options: argparse.Namespace) -> int:
    from odradek.broker.cli.node.admin_client import ask

    code = 0
    for told in ask(options.data_dir, {"request": "reload-certificates"}):
        if options.json:
            print_json(told)
        else:
            print(_text(told), flush=True)
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
