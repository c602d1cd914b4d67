"""``odradek pipeline``: topics become tables, and tables become topics, with Spark.

Each action is a module of its own, imported when it is named: help and mistakes are
answered without Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .arguments import EXAMPLES, USAGE_ERROR, did_you_mean, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

# The module and the summary of each action.
ACTIONS = {
    "export": ("export", "write a topic, or a part of it, to a table"),
    "sink": ("sink", "let topics flow into a table, exactly once"),
    "load": ("load", "write a table to a topic, each row once"),
    "replay": ("replay", "write dead letters back to a topic"),
    "doctor": ("doctor", "find out what the pipeline lacks here"),
    "audit": ("audit", "check every batch of a data directory"),
    "compact": ("compact", "make few large files of a table's many small ones"),
}
_EXAMPLES = (
    "odradek pipeline doctor                  # what is missing here, if anything",
    "odradek pipeline export orders ./orders  # a topic becomes a table, once",
    "odradek pipeline sink start orders.toml  # and goes on becoming one",
)
_HELP = ("-h", "--help", "help")


def command(arguments: list[str]) -> int:
    """Move topics to tables and tables to topics, with Spark."""
    return run_action("pipeline", ACTIONS, arguments, _EXAMPLES)


def run_action(
    name: str,
    actions: dict[str, tuple[str, str]],
    arguments: list[str],
    examples: Sequence[str],
) -> int:
    """The exit code of the action that the first of the arguments names."""
    if not arguments or arguments[0] in _HELP:
        print(_overview(name, actions, examples))
        return 0 if arguments else USAGE_ERROR
    action, rest = arguments[0], arguments[1:]
    if action not in actions:
        return fail(name, USAGE_ERROR, _unknown(action, actions))
    module = import_module(f"{__package__}.{actions[action][0]}")
    try:
        code: int = module.command(rest)
    except ModuleNotFoundError as error:
        return fail(name, 1, _missing(error))
    return code


def _unknown(name: str, actions: dict[str, tuple[str, str]]) -> str:
    if name.startswith("-"):
        return f"say first what to do: {', '.join(actions)}"
    meant = did_you_mean(name, actions)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(actions)}"
    return f"there is no action {name}; {hint}"


def _missing(error: ModuleNotFoundError) -> str:
    extras = {"deltalake": "delta", "pyiceberg": "iceberg"}
    package = (error.name or "").partition(".")[0]
    if package in ("fastavro", "google"):
        install = "fastavro" if package == "fastavro" else "protobuf"
    else:
        install = f"'odradek[{extras.get(package, 'pipeline')}]'"
    return f"the package {package} is not installed; pip install {install}"


def _overview(
    name: str, actions: dict[str, tuple[str, str]], examples: Sequence[str]
) -> str:
    lines = [f"usage: odradek {name} ACTION ...", "", "actions:"]
    lines += [f"  {action:<10} {summary}" for action, (_, summary) in actions.items()]
    lines += ["", f"odradek {name} ACTION --help says more."]
    lines += ["", EXAMPLES, *(f"  {example}" for example in examples)]
    return "\n".join(lines)
