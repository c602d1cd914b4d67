"""``odradek mirror remove``: a mirror that has nothing to do is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.admin.asking import add_asking_arguments, run, shown
from odradek.terminal.parser import Parser

if TYPE_CHECKING:
    import argparse

_COMMAND = "mirror remove"
_EXAMPLES = ("odradek mirror remove old",)


def command(arguments: list[str]) -> int:
    """Forget a mirror whose topics are promoted."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _remove(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let the running broker forget a mirror. Its topics are promoted before; they "
        "stay, and can be deleted like others. Exit code: 0 removed, 1 not possible, "
        "2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME")
    add_asking_arguments(parser)
    return parser


def _remove(options: argparse.Namespace) -> int:
    request: dict[str, Any] = {"request": "mirror-remove", "name": options.name}
    for _ in shown(options, request, _text):
        pass
    return 0


def _text(removed: dict[str, Any]) -> str:
    return f"mirror {removed['mirror']}: removed"
