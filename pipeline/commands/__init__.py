"""``odradek pipeline``: topics become tables, and tables become topics, with Spark.

Each action is a module of its own, imported when it is named: help and mistakes are
answered without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.terminal.actions import run_action
from odradek.terminal.failure import FAILED, fail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The module and the summary of each action.
ACTIONS = {
    "export": (".export", "write a topic, or a part of it, to a table"),
    "sink": (".sink", "let topics flow into a table, exactly once"),
    "load": (".load", "write a table to a topic, each row once"),
    "replay": (".replay", "write dead letters back to a topic"),
    "doctor": (".doctor", "find out what the pipeline lacks here"),
    "audit": (".audit", "check every batch of a data directory"),
    "compact": (".compact", "make few large files of a table's many small ones"),
}
# The extra that has a package; `pipeline` for all others.
_EXTRAS = {
    "deltalake": "delta",
    "pyiceberg": "iceberg",
    "fastavro": "avro",
    "google": "protobuf",
    "obstore": "objects",
}
_EXAMPLES = (
    "odradek pipeline doctor                  # what is missing here, if anything",
    "odradek pipeline export orders ./orders  # a topic becomes a table, once",
    "odradek pipeline sink start orders.toml  # and goes on becoming one",
)


def command(arguments: list[str]) -> int:
    """Move topics to tables and tables to topics, with Spark."""
    return run_pipeline_action("pipeline", ACTIONS, arguments, _EXAMPLES)


def run_pipeline_action(
    name: str,
    actions: Mapping[str, tuple[str, str]],
    arguments: list[str],
    examples: Sequence[str],
) -> int:
    """The exit code of the action that the first of the arguments names.

    A package that it lacks is said in one line, with how to install it.
    """
    try:
        return run_action(name, __package__, actions, arguments, examples, shared="")
    except ModuleNotFoundError as error:
        return fail(name, FAILED, _missing(error), name="PACKAGE_MISSING")


def _missing(error: ModuleNotFoundError) -> str:
    from odradek.terminal.installation import install_command

    package = (error.name or "").partition(".")[0]
    install = install_command(_EXTRAS.get(package, "pipeline"))
    return f"the package {package} is not installed: {install}"
