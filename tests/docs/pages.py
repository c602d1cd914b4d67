"""The code blocks of our pages, and what the comments above them say.

A block runs unless a comment right above it says why it cannot:

    <!-- not run: needs docker -->

Other comments: ``long: why`` (the page runs in `make test-long` alone), ``file: NAME``
(the block is what is in that file), ``before: COMMAND`` (what a reader of the page has
done or has, and the page does not show).
"""

import json
import re
import shlex
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "ARCHITECTURE.md")
FENCE = re.compile(r"( *)(```+)([\w-]*) *$")
COMMENT = re.compile(r" *<!-- (not run|long|file|before): (.+) -->$")
HEREDOC = re.compile(r"<<-? *['\"]?(\w+)['\"]?")
PROMPT = "$ "
RUN = ("sh", "console", "python")
SHOWN = ("text", "json", "toml", "yaml", "ini", "properties", "promql")


class Block(NamedTuple):
    """A code block. ``line`` is that of its fence; ``comments`` are those above it."""

    page: str
    line: int
    language: str
    text: str
    comments: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_code(self) -> bool:
        return self.language in RUN and "file" not in self.comments

    @property
    def runs(self) -> bool:
        return self.is_code and "not run" not in self.comments


def pages() -> list[str]:
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [*PAGES, *(str(path.relative_to(ROOT)) for path in found)]


def blocks(page: str) -> list[Block]:
    return list(blocks_of(page, (ROOT / page).read_text(encoding="utf-8")))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The blocks in a page's text.

    Raises:
        ValueError: a block does not end.
    """
    lines = enumerate(text.splitlines(), 1)
    comments: dict[str, str] = {}
    for number, line in lines:
        if comment := COMMENT.match(line):
            comments[comment[1]] = comment[2]
        elif fence := FENCE.match(line):
            inside = []
            for _, each in lines:
                if each.strip() == fence[2]:
                    break
                inside.append(each.removeprefix(fence[1]))
            else:
                raise ValueError(f"{page}:{number}: the block does not end")
            language = fence[3] or ("console" if _has_prompt(inside) else "")
            yield Block(page, number, language, "\n".join(inside) + "\n", comments)
            comments = {}
        elif line.strip():
            comments = {}


def _has_prompt(lines: list[str]) -> bool:
    return bool(lines) and lines[0].startswith(PROMPT)


def complaint(block: Block) -> str | None:
    """What is wrong with a block as it is written, if anything."""
    if block.language not in RUN + SHOWN:
        known = ", ".join(RUN + SHOWN)
        return f"its language is {block.language or 'missing'}; known are {known}"
    try:
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "console":
            commands(block.text)
    except ValueError as error:
        return str(error)
    return None


def commands(text: str) -> list[str]:
    """What is typed in a terminal that is shown with its prompts and answers.

    Raises:
        ValueError: a command does not end.
    """
    found = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith(PROMPT):
            continue  # an answer
        command = line.removeprefix(PROMPT)
        while not _is_whole(command):
            following = next(lines, None)
            if following is None:
                raise ValueError(f"does not end: {command.splitlines()[0]}")
            command += "\n" + following
        found.append(textwrap.dedent(command))
    return found


def _is_whole(command: str) -> bool:
    if command.endswith("\\"):
        return False
    if heredoc := HEREDOC.search(command):
        return heredoc[1] in command.splitlines()[1:]
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True
