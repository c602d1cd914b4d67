"""The tables of docs/about/acceptance.md: what is typed, and what is said.

In ``said``, … stands for what differs from one time to the next.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.docs.pages import ROOT

PAGE = "docs/about/acceptance.md"
COMMANDS = "Mistakes in a command"
CLIENTS = "Mistakes in a client"
VERDICTS = ("good", "ok", "bad")
CODE = re.compile(r"(`+) ?(.*?) ?\1")


class Row(NamedTuple):
    """A row of a table: all of its cells, without the marks of code around one."""

    line: int
    cells: tuple[str, ...]

    @property
    def typed(self) -> str:
        return self.cells[0]

    @property
    def said(self) -> str:
        return self.cells[1]

    @property
    def verdict(self) -> str:
        return self.cells[-1]


def rows(heading: str | None = None) -> list[Row]:
    """Those of the tables under a heading, or all."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return list(_rows_of(text.splitlines(), heading))


def _rows_of(lines: list[str], heading: str | None) -> Iterator[Row]:
    under = ""
    below = [*lines[1:], ""]
    for number, (line, following) in enumerate(zip(lines, below, strict=True), 1):
        if line.startswith("#"):
            under = line.lstrip("# ")
        is_head = line.startswith("|-") or following.startswith("|-")
        if line.startswith("|") and not is_head and heading in (None, under):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield Row(number, tuple(map(_plain, cells)))


def _plain(cell: str) -> str:
    code = CODE.fullmatch(cell)
    return code[2] if code else cell


def expression(said: str) -> str:
    """A regular expression for a line that says this."""
    return re.escape(said).replace("…", ".*")
