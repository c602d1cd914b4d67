"""The path of a partition: a name like ``kind=a/timestamp_day=2026-01-31``.

It is what Hive and Spark call the folders of a partition, and is read back. Invariant:
different values have different names, and each name is one that a file system takes.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# What Spark and Hive write for no value.
NULL = "__HIVE_DEFAULT_PARTITION__"
NAME_SIZE_MAX = 255  # bytes of a folder's name
# Not letters beyond ASCII: Spark would take the bytes of one for several.
_SPECIAL = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


def folder_name(name: str, text: str | None) -> str:
    """The folder of one value of one column."""
    if text is None:
        return f"{_escaped(name)}={NULL}"
    if text == NULL:  # a text that says so is not nothing
        return f"{_escaped(name)}=%5F{NULL[1:]}"
    if text.endswith("."):  # Azure takes a dot from the end of a folder's name
        return f"{_escaped(name)}={_escaped(text[:-1])}%2E"
    return f"{_escaped(name)}={_escaped(text)}"


def is_too_long(name: str, text: str) -> bool:
    """Whether no folder can be named after a value."""
    return len(folder_name(name, text).encode()) > NAME_SIZE_MAX


def partition_path(values: Iterable[tuple[str, str | None]]) -> str:
    """The name of the partition with these values."""
    return "/".join(folder_name(name, text) for name, text in values)


def values_of(path: str) -> dict[str, str | None]:
    """The values in the folders of a path, which may have others, too."""
    found: dict[str, str | None] = {}
    for folder in path.split("/"):
        name, is_there, text = folder.partition("=")
        if is_there and name:
            found[_plain(name)] = None if text == NULL else _plain(text)
    return found


def files_in(folder: str | os.PathLike[str]) -> list[str]:
    """The Parquet files in a folder and in those of its partitions, sorted."""
    found = []
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if "=" in name]
        found += [os.path.join(path, n) for n in names if n.endswith(".parquet")]
    return sorted(found)


def is_shown(path: str) -> bool:
    """Whether a path, from the table on, is that of a file that `files_in` finds."""
    *folders, name = path.split("/")
    return name.endswith(".parquet") and all("=" in folder for folder in folders)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
