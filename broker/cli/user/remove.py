"""``odradek user remove``: a user cannot log in any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.table import printable

from .mechanism import MECHANISMS, mechanisms_of, one_mechanism
from .near_user import refuse_user
from .user_parser import user_parser

if TYPE_CHECKING:
    import argparse

    from odradek.client.scram import Mechanism

    from .doors import Door

_COMMAND = "user remove"
_EXAMPLES = (
    "odradek user remove alice",
    "odradek user remove bob --mechanism SCRAM-SHA-512",
)


def command(arguments: list[str]) -> int:
    """Let a user log in no more."""
    parser = user_parser(
        _COMMAND, "Forget the passwords of a user, or that of one mechanism.", _EXAMPLES
    )
    parser.add_argument("user", metavar="USER")
    parser.add_argument(
        "--mechanism",
        type=one_mechanism,
        metavar="NAME",
        help=f"only that of {' or '.join(MECHANISMS)} (default: all)",
    )
    options = parser.parse(arguments)
    from .doors import run_at_door

    return run_at_door(_COMMAND, options, lambda door: _remove(door, options))


def _remove(door: Door, options: argparse.Namespace) -> int:
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.messages.scram import ScramCredentialDeletion

    name = printable(options.user)
    try:
        for mechanism in _mechanisms(door, options):
            door.change(ScramCredentialDeletion(name=options.user, mechanism=mechanism))
            if options.json:
                row = {"user": options.user, "mechanism": mechanism.text}
                print_json({**row, "removed": True})
            else:
                print(f"{name}: {mechanism.text} password removed")
    except KafkaError as error:
        return refuse_user(_COMMAND, door, error, options.user)
    return 0


def _mechanisms(door: Door, options: argparse.Namespace) -> list[Mechanism]:
    """The named one, or all that the user has.

    Raises:
        ResourceNotFound: there is no such user.
    """
    if options.mechanism:
        return mechanisms_of(options)
    users = door.describe([options.user])
    for error in users.failed.values():
        raise error
    known = {each.mechanism for each in users.found[options.user]}
    return [each for each in mechanisms_of(options) if each.text in known]
