"""``odradek mirror status``: how far mirrors are, and what is in their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.admin.asking import add_asking_arguments, run
from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.failure import FAILED
from odradek.terminal.parser import Parser
from odradek.terminal.table import printable, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    Item = dict[str, Any]

_COMMAND = "mirror status"
_EXAMPLES = ("odradek mirror status", "odradek mirror status old --json")
_HEADINGS = ("TOPIC", "PARTITION", "COPIED", "SOURCE", "LAG", "TROUBLE")


def command(arguments: list[str]) -> int:
    """Show mirrors, and how far they are."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _status(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Show the mirrors of the running broker: up to which offset each partition is "
        "copied and durable here, where the source ends, and what is in the way. Exit "
        "code: 0 all is well, 1 something is in the way, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="this one and no other (default: all)"
    )
    add_asking_arguments(parser)
    return parser


def _status(options: argparse.Namespace) -> int:
    from odradek.broker.cli.admin.admin_client import ask

    request: Item = {"request": "mirror-status"}
    if options.name:
        request["name"] = options.name
    items = list(ask(options.data_dir, request))
    if options.json:
        for item in items:
            print_json(item)
    else:
        _show(items)
    return FAILED if any(map(_has_trouble, items)) else 0


def _has_trouble(item: Item) -> bool:
    return bool(item.get("troubles") or item.get("trouble"))


def _show(items: Sequence[Item]) -> None:
    if not items:
        print("no mirrors")
    mirrors = [item for item in items if "bootstrap" in item]
    for number, mirror in enumerate(mirrors):
        if number:
            print()
        print(_text(mirror))
        for trouble in mirror["troubles"]:
            print(f"  {printable(trouble)}")
        of_mirror = [
            item
            for item in items
            if item["mirror"] == mirror["mirror"] and "bootstrap" not in item
        ]
        if of_mirror:
            print("\n".join(table(_HEADINGS, map(_row, of_mirror))))


def _text(mirror: Item) -> str:
    """One mirror in one line."""
    text = (
        f"mirror {mirror['mirror']}: {printable(mirror['topics'])} from "
        f"{printable(mirror['bootstrap'])}, cluster {printable(mirror['clusterId'])}: "
    )
    if not mirror["isKnown"]:
        return f"{text}not looked at since the start"
    return (
        f"{text}{mirror['followed']} topics followed, {mirror['promoted']} promoted, "
        f"{mirror['groups']} groups, lag {mirror['lag']}"
    )


def _row(item: Item) -> list[object]:
    trouble = printable(item["trouble"] or "")
    if item["partition"] is None:
        return [item["topic"], None, None, None, None, trouble]
    is_known = item["sourceEnd"] >= 0
    return [
        item["topic"],
        item["partition"],
        item["end"],
        item["sourceEnd"] if is_known else None,
        item["lag"] if is_known else None,
        trouble,
    ]
