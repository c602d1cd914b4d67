"""``odradek config example``: a file to begin with.

They are those of the folder `config/`, which an installed odradek has inside of it.
"""

from __future__ import annotations

from pathlib import Path

import odradek
from odradek.terminal.parser import Parser

_COMMAND = "config example"
_FOLDER = Path(odradek.__file__).parent / "config"
_EXAMPLES = (
    "odradek config example > server.properties",
    "odradek config example edge",
    "odradek config example dashboard > odradek.json     # Grafana imports it",
)


def command(arguments: list[str]) -> int:
    """Write a file to begin with to standard output."""
    parser = Parser(
        _COMMAND,
        "Write a commented property file to standard output, for odradek serve:"
        " server has the options that matter most, with their defaults; ci is for"
        " tests, edge for small machines that may lose power, container is what the"
        " image starts with. dashboard is one for Grafana. Exit code: 0 written, 2"
        " usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=sorted(files()),
        default="server",
        help="which one; server by default",
    )
    options = parser.parse(arguments)
    print(files()[options.name].read_text(encoding="utf-8"), end="")
    return 0


def files() -> dict[str, Path]:
    """The files that there are, by their names without what these end with."""
    found = [*_FOLDER.glob("*.properties"), *_FOLDER.glob("*.json")]
    return {path.stem: path for path in found}
