"""``odradek user set``: give a user a password, which nobody else gets to see.

It is asked for at the terminal, or read from the standard input. There is no argument
for it: what stands in a command line is in the history of the shell, and every user of
the machine can read it in the list of processes.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.table import printable

from .mechanism import MECHANISMS, mechanism_of, one_mechanism

if TYPE_CHECKING:
    from odradek.client.cluster import Cluster

_COMMAND = "user set"
_ITERATIONS = 4096
_EXAMPLES = (
    "odradek user set alice                      # asks for the password",
    "odradek user set alice < password.txt       # the first line is the password",
    "odradek user set bob --mechanism SCRAM-SHA-512 --iterations 8192 < password.txt",
)


class NoPassword(Exception):
    """There is none, or not the same twice."""


def command(arguments: list[str]) -> int:
    """Give a user a password."""
    parser = cluster_parser(
        _COMMAND,
        "Let a user log in by SCRAM. The password is asked for, or is the first line"
        " of the standard input.",
        _EXAMPLES,
    )
    parser.add_argument("user", metavar="USER")
    parser.add_argument(
        "--mechanism",
        type=one_mechanism,
        default=MECHANISMS[0],
        metavar="NAME",
        help=f"one of {', '.join(MECHANISMS)} (default: {MECHANISMS[0]})",
    )
    parser.add_argument(
        "--iterations",
        type=count,
        default=_ITERATIONS,
        metavar="N",
        help=f"how often it is hashed, 4096 to 16384 (default: {_ITERATIONS})",
    )
    parser.add_argument("--password", type=_no_argument, help=argparse.SUPPRESS)
    options = parser.parse(arguments)
    try:
        password = read_password(options.user)
    except NoPassword as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    return run(_COMMAND, options, lambda cluster: _set(cluster, options, password))


def _no_argument(_: str) -> str:
    raise argparse.ArgumentTypeError(
        "others can read what stands in a command line; the password is asked for, or"
        " is the first line of the standard input"
    )


def read_password(user: str) -> str:
    """The password that somebody types, or that stands in the standard input.

    Raises:
        NoPassword: it is empty, or was typed differently the second time.
    """
    if sys.stdin.isatty():
        from getpass import getpass

        password = getpass(f"password of {printable(user)}: ", sys.stderr)
        if password and getpass("again: ", sys.stderr) != password:
            raise NoPassword("the passwords are not the same; nothing was changed")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise NoPassword("a password cannot be empty; nothing was changed")
    return password


def _set(cluster: Cluster, options: argparse.Namespace, password: str) -> int:
    from odradek.client.scram import set_password
    from odradek.protocol.errors import KafkaError

    name = printable(options.user)
    mechanism = mechanism_of(options)
    try:
        set_password(cluster, options.user, password, mechanism, options.iterations)
    except KafkaError as error:
        return refuse(_COMMAND, error, options.user)
    if options.json:
        print_json({"user": options.user, "mechanism": mechanism.text, "set": True})
    else:
        print(f"{name}: {mechanism.text} password set")
    return 0
