"""``odradek user remove``: a user cannot log in any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.table import printable

from .mechanism import MECHANISMS, mechanism_of, one_mechanism

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.scram import Mechanism

_COMMAND = "user remove"
_EXAMPLES = (
    "odradek user remove alice",
    "odradek user remove bob --mechanism SCRAM-SHA-512",
)


def command(arguments: list[str]) -> int:
    """Let a user log in no more."""
    parser = cluster_parser(
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
    return run(_COMMAND, options, lambda cluster: _remove(cluster, options))


def _remove(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.scram import remove_password
    from odradek.protocol.errors import KafkaError

    name = printable(options.user)
    try:
        for mechanism in _mechanisms(cluster, options):
            remove_password(cluster, options.user, mechanism)
            if options.json:
                row = {"user": options.user, "mechanism": mechanism.text}
                print_json({**row, "removed": True})
            else:
                print(f"{name}: {mechanism.text} password removed")
    except KafkaError as error:
        return refuse_named(_COMMAND, cluster, error, options.user)
    return 0


def _mechanisms(cluster: Cluster, options: argparse.Namespace) -> list[Mechanism]:
    """The named one, or all that the user has.

    Raises:
        ResourceNotFound: there is no such user.
    """
    from odradek.client.scram import Mechanism, describe_users

    if options.mechanism:
        return [mechanism_of(options)]
    users = describe_users(cluster, [options.user])
    for error in users.failed.values():
        raise error
    known = {each.text: each for each in Mechanism}
    return [
        known[each.mechanism]
        for each in users.found[options.user]
        if each.mechanism in known
    ]
