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

# What other tools call it.
_SAME = {
    "ls": ("list",),
    "get": ("describe", "show", "list"),
    "show": ("describe", "list"),
    "info": ("describe", "show"),
    "describe": ("show", "status"),
    "add": ("create", "set", "grant"),
    "new": ("create",),
    "create": ("set", "add"),
    "rm": ("delete", "remove", "revoke"),
    "remove": ("delete", "revoke"),
    "delete": ("remove", "revoke", "expire"),
    "set": ("alter", "create"),
    "update": ("alter", "set"),
    "alter": ("set",),
}
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
        return fail(command, USAGE_ERROR, _unknown(command, arguments, actions))
    module = import_module(actions[name][0], package)
    code: int = module.command(rest)
    return code


def _unknown(command: str, given: Sequence[str], actions: Actions) -> str:
    name = given[0]
    if name.startswith("-"):
        # Kafka's tools have options for what is an action here.
        for flag in given:
            if flag.startswith("--") and flag[2:] in actions:
                return f"{flag} is an action, without --: odradek {command} {flag[2:]}"
        for word in given:
            if word in actions:
                return f"the action comes first: odradek {command} {word} ..."
        return f"say first what to do: {', '.join(actions)}"
    longer = [each for each in actions if each.startswith(f"{name}-")]
    others = [each for each in _SAME.get(name, ()) if each in actions]
    meant = next(iter(longer + others), None) or did_you_mean(name, actions)
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(actions)}"
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
