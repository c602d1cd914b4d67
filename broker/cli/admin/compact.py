"""``odradek compact``: let the running broker compact a topic now, and wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import count
from odradek.terminal.failure import FAILED
from odradek.terminal.parser import Parser
from odradek.terminal.table import printable

from .asking import add_asking_arguments, run, shown

if TYPE_CHECKING:
    import argparse

_COMMAND = "compact"
# Nothing went wrong, even where nothing was done.
_GOOD = ("cleaned", "nothing-to-clean", "too-young", "open-transaction")
_EXAMPLES = (
    "odradek compact users",
    "odradek compact users --partition 0 --data-dir /var/lib/odradek",
)


def command(arguments: list[str]) -> int:
    """Compact a topic now: keep the last record of each key."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _compact(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let the running broker compact a topic now, and wait until it has. What was "
        "written up to now is sealed and compacted, too. Interrupted, it only ends "
        "the waiting. Exit code: 0 done or nothing to do, 1 not possible, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--partition",
        type=count,
        action="append",
        metavar="N",
        help="this partition and no other; again for more (default: all)",
    )
    add_asking_arguments(parser)
    return parser


def _compact(options: argparse.Namespace) -> int:
    request: dict[str, Any] = {"request": _COMMAND, "topic": options.topic}
    if options.partition is not None:
        request["partitions"] = options.partition
    code = 0
    for done in shown(options, request, _text):
        if done["outcome"] not in _GOOD:
            code = FAILED
    return code


def _text(done: dict[str, Any]) -> str:
    """One partition in one line."""
    place = f"{done['topic']}-{done['partition']}"
    reason = printable(done["reason"] or "")
    if not done["bytesBefore"]:
        outcome = done["outcome"].replace("-", " ")
        return f"{place}: {outcome}: {reason}" if reason else f"{place}: {outcome}"
    text = (
        f"{place}: {done['recordsBefore']} -> {done['recordsAfter']} records, "
        f"{done['bytesBefore']} -> {done['bytesAfter']} bytes, "
        f"clean up to offset {done['nextDirtyOffset']}, {_elapsed(done)}"
    )
    if done["outcome"] != "cleaned":
        reason = f"then {done['outcome'].replace('-', ' ')}: {reason}"
    return f"{text} ({reason})" if reason else text


def _elapsed(done: dict[str, Any]) -> str:
    elapsed_ms = done["elapsedMs"]
    return f"{elapsed_ms} ms" if elapsed_ms < 10_000 else f"{elapsed_ms / 1000:.1f} s"
