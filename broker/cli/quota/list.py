"""``odradek quota list``: all quotas, or those of some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, run

from .entity import entity_arguments, entity_of, show

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.quotas import Entity

_COMMAND = "quota list"
_EXAMPLES = (
    "odradek quota list",
    "odradek quota list --user alice            # also with client ids",
    "odradek quota list --client-id-default --json",
)


def command(arguments: list[str]) -> int:
    """Show all quotas, or those of some."""
    parser = cluster_parser(
        _COMMAND,
        "Show the quotas of all users, client ids and addresses, or those where the"
        " named one takes part.",
        _EXAMPLES,
    )
    entity_arguments(parser)
    options = parser.parse(arguments)
    entity = entity_of(parser, options)
    return run(_COMMAND, options, lambda cluster: _list(cluster, entity, options))


def _list(cluster: Cluster, entity: Entity, options: argparse.Namespace) -> int:
    from odradek.client.quotas import describe_quotas

    found = describe_quotas(cluster, entity)
    show(found, options.json)
    if not found and not options.json:
        print("no quotas")
    return 0
