"""``odradek quota describe``: the quotas of one entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, run

from .entity import entity_arguments, entity_text, required_entity, show

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.quotas import Entity

_COMMAND = "quota describe"
_EXAMPLES = (
    "odradek quota describe --user alice",
    "odradek quota describe --user alice --client-id-default --json",
)


def command(arguments: list[str]) -> int:
    """Show the quotas of one entity."""
    parser = cluster_parser(
        _COMMAND,
        "Show the quotas that are set for exactly this user, client id, pair of both,"
        " or address. Those of a default are not among them.",
        _EXAMPLES,
    )
    entity_arguments(parser)
    options = parser.parse(arguments)
    entity = required_entity(parser, options)
    return run(_COMMAND, options, lambda cluster: _describe(cluster, entity, options))


def _describe(cluster: Cluster, entity: Entity, options: argparse.Namespace) -> int:
    from odradek.client.quotas import describe_quotas

    found = describe_quotas(cluster, entity, strict=True)
    show(found, options.json)
    if not found and not options.json:
        print(f"{entity_text(entity)}: no quotas")
    return 0
