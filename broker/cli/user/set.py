"""``odradek user set``: give a user a password, which nobody else gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import count, print_json
from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.password import (
    NoPassword,
    Password,
    password_arguments,
    password_of,
)
from odradek.terminal.table import printable

from .mechanism import MECHANISMS, mechanisms_of, one_mechanism
from .user_parser import user_parser

if TYPE_CHECKING:
    import argparse

    from .doors import Door

_COMMAND = "user set"
_ITERATIONS = 4096
_EXAMPLES = (
    "odradek user set alice                      # asks for the password, twice",
    "odradek user set alice < password.txt       # the first line is the password",
    "odradek user set alice --generate           # makes one, and prints it",
    "odradek user set bob --mechanism SCRAM-SHA-512 --password-file bob.password",
)


def command(arguments: list[str]) -> int:
    """Give a user a password."""
    parser = user_parser(
        _COMMAND,
        "Let a user log in by SCRAM. The password is asked for, or is the first line"
        " of the standard input.",
        _EXAMPLES,
    )
    parser.add_argument("user", metavar="USER")
    parser.add_argument(
        "--mechanism",
        type=one_mechanism,
        metavar="NAME",
        help=f"one of {', '.join(MECHANISMS)} (default: both)",
    )
    parser.add_argument(
        "--iterations",
        type=count,
        default=_ITERATIONS,
        metavar="N",
        help=f"how often it is hashed, 4096 to 16384 (default: {_ITERATIONS})",
    )
    password_arguments(parser)
    options = parser.parse(arguments)
    try:
        password = password_of(options, options.user)
    except NoPassword as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    from .doors import run_at_door

    return run_at_door(_COMMAND, options, lambda door: _set(door, options, password))


def _set(door: Door, options: argparse.Namespace, password: Password) -> int:
    from odradek.client.scram import upsertion_of
    from odradek.protocol.errors import KafkaError

    name = printable(options.user)
    mechanisms = mechanisms_of(options)
    try:
        for mechanism in mechanisms:
            door.change(
                upsertion_of(options.user, password.text, mechanism, options.iterations)
            )
            if options.json:
                row = {"user": options.user, "mechanism": mechanism.text, "set": True}
                made = {"password": password.text} if password.is_made else {}
                print_json({**row, **made})
            else:
                print(f"{name}: {mechanism.text} password set")
    except KafkaError as error:
        return refuse(_COMMAND, error, options.user)
    if password.is_made and not options.json:
        print(f"{name}: the password is {password.text}")
    return 0
