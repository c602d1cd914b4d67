"""What commands share that the running broker is asked: arguments, items, failures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import json_argument
from odradek.terminal.pipe import quiet_pipe
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator

    from odradek.terminal.parser import Parser

    Item = dict[str, Any]


def add_asking_arguments(parser: Parser) -> None:
    """Which broker is asked, and how its answer is shown."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="the data directory of the broker (default ./data)",
    )
    json_argument(parser, "one JSON object a line")


def shown(
    options: argparse.Namespace, request: Item, text_of: Callable[[Item], str]
) -> Generator[Item]:
    """The items of the answer, each when it has been shown.

    Raises:
        AdminRefusal: there is no broker, or it refuses.
    """
    from .admin_client import ask

    for item in ask(options.data_dir, request):
        if options.json:
            print_json(item)
        else:
            print(text_of(item), flush=True)
        yield item


def run(command: str, act: Callable[[], int]) -> int:
    """The exit code of ``act``; what the broker refuses is said in one line."""
    from .admin_client import AdminRefusal

    try:
        with quiet_pipe():
            return act()
    except AdminRefusal as error:
        return fail(command, FAILED, printable(str(error)))
