"""``odradek token list``: which tokens there are. Never what they log in with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, run

from .shown import principal, refused, show

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "token list"
_EXAMPLES = (
    "odradek token list",
    "odradek token list --owner User:alice --json",
)


def command(arguments: list[str]) -> int:
    """Show tokens."""
    parser = cluster_parser(
        _COMMAND,
        "Show delegation tokens: our own, those that we may renew, and what our rights"
        " let us see. What logs in with them is not shown.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--owner",
        action="append",
        type=principal,
        metavar="USER",
        help="only of this user, or for it to renew; may be repeated",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _list(cluster, options))


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import describe_tokens
    from odradek.protocol.errors import KafkaError

    try:
        found = describe_tokens(cluster, options.owner)
    except KafkaError as error:
        return refused(_COMMAND, error)
    show(sorted(found, key=lambda token: token.issue_ms), options.json)
    if not found and not options.json:
        print("no tokens")
    return 0
