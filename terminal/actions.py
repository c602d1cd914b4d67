"""Commands that are several: ``odradek group list``, ``odradek txn abort``.

Each action is a module of its own, imported when it is named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .failure import USAGE_ERROR, fail
from .parser import EXAMPLES
from .spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # The module and the summary of each action.
    Actions = Mapping[str, tuple[str, str]]

_HELP = ("-h", "--help", "help")
_OF_A_CLUSTER = "[--bootstrap-server HOST:PORT] [--json]"


def run_action(
    command: str,
    package: str | None,
    actions: Actions,
    arguments: list[str],
    examples: Sequence[str],
    shared: str = _OF_A_CLUSTER,
) -> int:
    """The exit code of the action that the first of the arguments names.

    Its module is of the ``package``, and has a function ``command``. What is ``shared``
    are the options that all of the actions take, as the overview shows them.
    """
    if not arguments or arguments[0] in _HELP:
        print(_overview(command, actions, examples, shared))
        return 0 if arguments else USAGE_ERROR
    name, rest = arguments[0], arguments[1:]
    if name not in actions:
        return fail(command, USAGE_ERROR, _unknown(name, actions))
    module = import_module(actions[name][0], package)
    code: int = module.command(rest)
    return code


def _unknown(name: str, actions: Actions) -> str:
    meant = did_you_mean(name, actions)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(actions)}"
    if name.startswith("-"):
        return f"say first what to do: {', '.join(actions)}"
    return f"there is no action {name}; {hint}"


def _overview(
    command: str, actions: Actions, examples: Sequence[str], shared: str
) -> str:
    words = ["usage: odradek", command, "ACTION", *shared.split(), "..."]
    lines = [" ".join(words), "", "actions:"]
    lines += [f"  {name:<15} {summary}" for name, (_, summary) in actions.items()]
    lines += ["", f"odradek {command} ACTION --help says more."]
    lines += ["", EXAMPLES, *(f"  {example}" for example in examples)]
    return "\n".join(lines)
