"""``odradek mirror promote``: copies become topics like all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.admin.asking import add_asking_arguments, run, shown
from odradek.broker.cli.arguments.cluster_options import count
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser

if TYPE_CHECKING:
    import argparse

_COMMAND = "mirror promote"
_TIMEOUT_S = 60
_EXAMPLES = (
    "odradek mirror promote old",
    "odradek mirror promote old --topic orders --topic payments",
    "odradek mirror promote old --now",
)


def command(arguments: list[str]) -> int:
    """End the copying of topics: they can be written to."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _promote(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let topics be copies no longer: they are written to here from now on, and no "
        "more copied. First they catch up with where the source ends now; stop its "
        "producers before, so that nothing is written there behind that. Transactions "
        "that are open then are aborted here. Exit code: 0 promoted, 1 not possible, "
        "2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="TOPIC",
        help="this one and no other; again for more (default: all)",
    )
    parser.add_argument(
        "--timeout",
        type=count,
        default=_TIMEOUT_S,
        metavar="SECONDS",
        help=f"how long to catch up at most (default {_TIMEOUT_S})",
    )
    parser.add_argument(
        "--now",
        action="store_true",
        help="as they are, without the source: where it is lost",
    )
    add_asking_arguments(parser)
    return parser


def _promote(options: argparse.Namespace) -> int:
    request: dict[str, Any] = {
        "request": "mirror-promote",
        "name": options.name,
        "topics": options.topic,
        "timeoutMs": None if options.now else options.timeout * 1000,
    }
    promoted = list(shown(options, request, _text))
    if not promoted:
        return fail(_COMMAND, FAILED, f"mirror {options.name} follows no topics")
    return 0


def _text(promoted: dict[str, Any]) -> str:
    """One topic in one line."""
    ends = ", ".join(map(str, promoted["ends"]))
    return f"{promoted['topic']}: promoted; it was copied up to {ends}"
