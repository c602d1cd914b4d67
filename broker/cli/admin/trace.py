"""``odradek trace``: the next request of a kind, step by step through the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, seconds
from odradek.terminal.table import printable

from .asking import add_asking_arguments, run, shown

if TYPE_CHECKING:
    import argparse

_COMMAND = "trace"
_KINDS = ("produce", "fetch", "commit")
_NAMES = {0: "Produce", 1: "Fetch", 8: "OffsetCommit"}
_EXAMPLES = (
    "odradek trace produce --topic orders",
    "odradek trace fetch --client-id billing --count 3 --timeout 1m",
    "odradek trace commit --group billing --json",
)


def command(arguments: list[str]) -> int:
    """Watch a produce, a fetch or a commit on its way through the broker."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _trace(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Wait for the next such request that a client sends to the running broker, and "
        "show its steps, from its bytes to those of its answer: when, and in which "
        "function of which file. Exit code: 0 seen, 1 none came or no broker is "
        "there, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("what", choices=_KINDS)
    parser.add_argument("--topic", metavar="T", help="that has to do with this topic")
    parser.add_argument("--group", metavar="G", help="of this group (commit)")
    parser.add_argument("--client-id", metavar="C", help="of this client")
    parser.add_argument(
        "--count", type=_positive, default=1, metavar="N", help="how many (default 1)"
    )
    parser.add_argument(
        "--timeout",
        type=_time,
        default=30.0,
        metavar="TIME",
        help="how long to wait for them (default: 30s)",
    )
    add_asking_arguments(parser)
    return parser


def _positive(text: str) -> int:
    from argparse import ArgumentTypeError

    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _time(text: str) -> float:
    from argparse import ArgumentTypeError

    if not (value := seconds(text)):
        raise ArgumentTypeError("it must be more than 0")
    return value


def _trace(options: argparse.Namespace) -> int:
    request: dict[str, Any] = {
        "request": _COMMAND,
        "what": options.what,
        "topic": options.topic,
        "group": options.group,
        "clientId": options.client_id,
        "count": options.count,
        "timeoutMs": round(options.timeout * 1000),
    }
    count = 0

    def text(item: dict[str, Any]) -> str:
        return "\n" * (count > 0) + _text(item)

    for _ in shown(options, request, text):
        count += 1
    if count:
        return 0
    waited = f"{options.timeout:g} s"
    return fail(_COMMAND, FAILED, f"no such {options.what} came in {waited}")


def _text(item: dict[str, Any]) -> str:
    """A request, in a line for each of its steps and two around them."""
    client = printable(item["clientId"] or "no name")
    lines = [
        f"{_NAMES[item['api']]} v{item['version']} from {item['peer']} ({client}), "
        f"correlation id {item['correlationId']}: the {item['way']} way",
        f"{'at µs':>10}{'+ µs':>10}",
    ]
    before_us = 0.0
    for step in item["steps"]:
        at_us = step["atUs"]
        text = printable(step["text"])
        lines.append(f"{at_us:>10.1f}{at_us - before_us:>10.1f}  {text}")
        lines.append(f"{'':22}{step['file']}  {step['function']}")
        before_us = at_us
    error = f"; error {item['error']}" if item["error"] else ""
    lines.append(f"{item['outcome']}{error}")
    return "\n".join(lines)
