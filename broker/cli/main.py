"""The command line: ``odradek COMMAND ...`` finds the command and runs it.

A command is a function ``(arguments) -> exit code``, and a module of its own that is
imported only when it is named. Commands of other packages are found through the
entry-point group ``odradek.commands``.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, cast

from odradek.terminal.failure import USAGE_ERROR, answer_in_json, fail
from odradek.terminal.pipe import drop_output, mend_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

Command = Callable[[list[str]], int]

# Listed here and not only in the entry points: to scan those takes longer than
# everything else that `odradek health` does. The summary is the command's own.
BUILT_IN = {
    "serve": (
        "odradek.broker.cli.node.serve",
        "Run a broker until it is told to stop (SIGTERM, SIGINT).",
    ),
    "health": (
        "odradek.broker.cli.node.health",
        "Ask whether a broker is ready: exit code 0 if it is, 1 if not.",
    ),
    "version": (
        "odradek.broker.cli.node.version",
        "Say which odradek this is, and what it runs on.",
    ),
    "topic": (
        "odradek.broker.cli.topic.command",
        "Make, show, change and delete topics.",
    ),
    "produce": (
        "odradek.broker.cli.records.produce",
        "Write lines, JSON or files to a topic.",
    ),
    "consume": ("odradek.broker.cli.records.consume", "Read records of topics."),
    "replay": (
        "odradek.broker.cli.records.replay",
        "Ask a broker again what clients asked; compare the answers.",
    ),
    "config": ("odradek.broker.cli.config.command", "Show and change options."),
    "group": (
        "odradek.broker.cli.group.command",
        "Show consumer groups and their lag; delete them; reset their offsets.",
    ),
    "txn": (
        "odradek.broker.cli.txn.command",
        "Show transactions and what they hold up; abort them.",
    ),
    "secure": (
        "odradek.broker.cli.secure.command",
        "Make a secure broker: certificates, first user, options; show client options.",
    ),
    "user": (
        "odradek.broker.cli.user.command",
        "Show users who log in by SASL/SCRAM; set and remove their passwords.",
    ),
    "token": (
        "odradek.broker.cli.token.command",
        "Lend a login: make, show, renew and end delegation tokens.",
    ),
    "acl": (
        "odradek.broker.cli.acl.command",
        "Say who may do what: grant, deny, revoke, list and explain.",
    ),
    "cert": (
        "odradek.broker.cli.cert.command",
        "Make, show and reload certificates of brokers and clients.",
    ),
    "quota": (
        "odradek.broker.cli.quota.command",
        "Show, set and remove quotas of users, client ids and addresses.",
    ),
    "profile": (
        "odradek.broker.cli.profile.command",
        "Name clusters, and choose the one that commands use.",
    ),
    "bench": (
        "odradek.broker.cli.node.bench",
        "Measure how fast a broker writes and reads.",
    ),
    "doctor": (
        "odradek.broker.cli.node.doctor",
        "Find out why a client cannot connect.",
    ),
    "pipeline": (
        "odradek.pipeline.commands",
        "Move topics to tables and tables to topics, with Spark.",
    ),
    "adopt": (
        "odradek.broker.cli.node.adopt",
        "Take over the data directory of an Apache Kafka that has stopped.",
    ),
    "dump-log": (
        "odradek.broker.cli.node.dump_log",
        "Show what is in the files of a log directory, and what is wrong in them.",
    ),
    "fsck": (
        "odradek.broker.cli.node.fsck",
        "Check log directories without changing them, and say what is wrong.",
    ),
    "backup": (
        "odradek.broker.cli.node.backup",
        "Make a consistent copy of a broker's data, while it runs.",
    ),
    "restore": (
        "odradek.broker.cli.node.restore",
        "Make data directories of a backup, or check it.",
    ),
    "cluster": (
        "odradek.broker.cli.cluster.command",
        "Show the brokers and controllers of a cluster, and how they are.",
    ),
    "mirror": (
        "odradek.broker.cli.mirror.command",
        "Copy topics of another cluster as they are, and take them over.",
    ),
    "compact": (
        "odradek.broker.cli.admin.compact",
        "Compact a topic now: keep the last record of each key.",
    ),
    "trace": (
        "odradek.broker.cli.admin.trace",
        "Watch a produce, a fetch or a commit on its way through the broker.",
    ),
    "completion": ("odradek.broker.cli.completion", "Let a shell complete commands."),
}
GROUP = "odradek.commands"
_OUR_INFO = ("odradek-", "odradek.")
_EXAMPLES = (
    "examples:",
    "  odradek serve",
    "  echo hello | odradek produce greetings",
    "  odradek consume greetings -e",
)
_VERSION = (["--version"], ["-V"])
_HELP = ("-h", "--help", "help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in _VERSION:
        given[0] = "version"
    elif given[:1] == ["help"] and len(given) > 1:
        given = [*given[1:], "--help"]
    name = "".join(given[:1])
    mend_streams(is_quiet=name == "serve")
    answer_in_json("--json" in given)
    code = 0
    try:
        code = _run(name, given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone
        drop_output()
        return 1
    except UnicodeEncodeError:
        odd = next((each for each in given if not _is_text(each)), None)
        if odd is None:  # a bug
            raise
        return fail(name, USAGE_ERROR, f"{odd!a} is no text in UTF-8")
    except OSError as error:
        if name == "serve":
            raise
        drop_output()
        return code or fail(name, 1, error.strerror or error)
    return code


def _is_text(argument: str) -> bool:
    """Whether it can be sent: the name of a file may be of any bytes."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _run(name: str, given: list[str]) -> int:
    if not given or name in _HELP:
        print(_overview())
        return 0 if given else USAGE_ERROR
    gc.disable()  # nothing of what is loaded is garbage
    command = find(name)
    gc.enable()
    if command is None:
        return fail(name, USAGE_ERROR, _unknown(name))
    return command(given[1:])


def find(name: str) -> Command | None:
    """The command of that name."""
    if name in BUILT_IN:
        return cast(Command, import_module(BUILT_IN[name][0]).command)
    for entry_point in _entry_points():
        if entry_point.name == name:
            return cast(Command, entry_point.load())
    return None


def _entry_points() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points  # 30 ms with what it reads

    return list(entry_points(group=GROUP))


def _names() -> list[str]:
    if not _has_foreign_commands():
        return [*BUILT_IN]
    others = sorted({entry_point.name for entry_point in _entry_points()})
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def _has_foreign_commands() -> bool:
    """Whether a package beside this one has some; a tenth of what asking it takes."""
    group = f"[{GROUP}]".encode()
    for folder in sys.path:
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.endswith("-info") and not name.startswith(_OUR_INFO):
                    with (
                        suppress(OSError),
                        open(f"{folder}/{name}/entry_points.txt", "rb") as file,
                    ):
                        if group in file.read():
                            return True
    return False


def _unknown(name: str) -> str:
    from odradek.terminal.spelling import did_you_mean

    from .foreign_words import advice

    names = _names()
    if instead := advice(name):
        return f"there is no such command; {instead}"
    meant = did_you_mean(name, names)
    if meant:
        return f"there is no such command; did you mean {meant}?"
    return f"there is no such command; there are {', '.join(names)}"


def _overview() -> str:
    lines = ["usage: odradek COMMAND ...", "", "commands:"]
    lines += [f"  {name:<12} {_summary(name)}".rstrip() for name in _names()]
    lines += ["", "odradek COMMAND --help says more.", "", *_EXAMPLES]
    return "\n".join(lines)


def _summary(name: str) -> str:
    if name in BUILT_IN:
        return BUILT_IN[name][1]
    command = find(name)
    lines = (command.__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""


if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
