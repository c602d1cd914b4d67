"""Reading a properties file: ``name=value`` lines as Java writes them."""

import re
from typing import NamedTuple

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
BYTE_ORDER_MARK = "\ufeff"
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# The name ends at the first =, : or blank that no backslash stands before.
_LINE = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)


class Property(NamedTuple):
    """One entry of a properties file, with the line on which it begins."""

    line: int
    name: str
    value: str


def parse_properties(text: str) -> list[Property]:
    """The entries of a properties file in their order; comments are left out.

    So is the mark with which editors on Windows begin a file.
    """
    entries = []
    lines = iter(enumerate(text.removeprefix(BYTE_ORDER_MARK).splitlines(), 1))
    for number, line in lines:
        whole = line.lstrip()
        if not whole or whole[0] in "#!":
            continue
        while _is_continued(whole):
            _, more = next(lines, (0, ""))
            whole = whole[:-1] + more.lstrip()
        found = _LINE.fullmatch(whole)
        if found is not None:  # it always is: the last group takes everything
            entries.append(Property(number, _plain(found[1]), _plain(found[2])))
    return entries


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _plain(text: str) -> str:
    return _ESCAPE.sub(_unescape, text)


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    if len(escaped) == 5:
        return chr(int(escaped[1:], 16))
    return _CONTROL.get(escaped, escaped)
