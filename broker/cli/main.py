"""The command line: ``odradek COMMAND ...`` finds the command and runs it.

A command is a function ``(arguments) -> exit code``, and a module of its own that is
imported only when it is named. Commands of other packages are found through the
entry-point group ``odradek.commands``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from .parser import USAGE_ERROR, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

Command = Callable[[list[str]], int]

# Listed here and not only in the entry points: to scan those takes longer than
# everything else that `odradek health` does.
BUILT_IN = {
    "serve": "broker.cli.serve",
    "health": "broker.cli.health",
    "version": "broker.cli.version",
    "adopt": "broker.cli.adopt",
    "dump-log": "broker.cli.dump_log",
    "fsck": "broker.cli.fsck",
    "compact": "broker.cli.compact",
    "group": "broker.cli.group",
    "txn": "broker.cli.txn",
    "pipeline": "pyspark_odradek.commands",
}
GROUP = "odradek.commands"
_HELP = ("-h", "--help", "help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in _HELP:
        print(_overview())
        return 0 if given else USAGE_ERROR
    name = "version" if given[0] == "--version" else given[0]
    command = find(name)
    if command is None:
        return fail(name, USAGE_ERROR, _unknown(name))
    try:
        return command(given[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone
        return 1


def find(name: str) -> Command | None:
    """The command of that name."""
    if name in BUILT_IN:
        return cast(Command, import_module(BUILT_IN[name]).command)
    for entry_point in _entry_points():
        if entry_point.name == name:
            return cast(Command, entry_point.load())
    return None


def _entry_points() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points  # 30 ms with what it reads

    return list(entry_points(group=GROUP))


def _names() -> list[str]:
    others = sorted({entry_point.name for entry_point in _entry_points()})
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def _unknown(name: str) -> str:
    from ..config.option import did_you_mean

    names = _names()
    meant = did_you_mean(name, names)
    if meant:
        return f"there is no such command; did you mean {meant}?"
    return f"there is no such command; there are {', '.join(names)}"


def _overview() -> str:
    lines = ["usage: odradek COMMAND ...", "", "commands:"]
    for name in _names():
        command = find(name)
        summary = (command.__doc__ or "").strip().splitlines()
        lines.append(f"  {name:<12} {summary[0] if summary else ''}")
    lines += ["", "odradek COMMAND --help says more."]
    return "\n".join(lines)


if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
