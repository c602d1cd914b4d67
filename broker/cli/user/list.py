"""``odradek user list``: which users there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, run

from .describe import show

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "user list"
_EXAMPLES = ("odradek user list", "odradek user list --json")


def command(arguments: list[str]) -> int:
    """Name the users."""
    parser = cluster_parser(
        _COMMAND, "Name the users of a cluster who can log in by SCRAM.", _EXAMPLES
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _list(cluster, options))


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.scram import describe_users

    found = describe_users(cluster).found
    show(found, options.json)
    if not found and not options.json:
        print("no users")
    return 0
