"""``odradek quota remove``: somebody is limited no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

from .entity import entity_arguments, entity_text, required_entity

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.quotas import Entity

_COMMAND = "quota remove"
_EXAMPLES = (
    "odradek quota remove --user alice                       # all that it has",
    "odradek quota remove --client-id-default request_percentage",
)


def command(arguments: list[str]) -> int:
    """Remove quotas."""
    parser = cluster_parser(
        _COMMAND,
        "Remove quotas of a user, a client id, a pair of both, or an address.",
        _EXAMPLES,
    )
    parser.add_argument(
        "quota", nargs="*", metavar="NAME", help="only these (default: all)"
    )
    entity_arguments(parser)
    options = parser.parse(arguments)
    entity = required_entity(parser, options)
    return run(_COMMAND, options, lambda cluster: _remove(cluster, entity, options))


def _remove(cluster: Cluster, entity: Entity, options: argparse.Namespace) -> int:
    from odradek.client.quotas import alter_quotas, describe_quotas
    from odradek.protocol.errors import KafkaError

    who = entity_text(entity)
    try:
        found = describe_quotas(cluster, entity, strict=True)
        has = sorted(name for each in found for name in each.values)
        names = list(dict.fromkeys(options.quota)) or has
        missing = [name for name in names if name not in has]
        if missing or not names:
            what = printable(", ".join(missing)) or "quotas"
            return fail(_COMMAND, FAILED, f"{who}: no {what} to remove")
        alter_quotas(cluster, entity, dict.fromkeys(names))
    except KafkaError as error:
        return refuse(_COMMAND, error, who)
    if options.json:
        print_json({"entity": dict(entity), "removed": names})
    else:
        for name in names:
            print(f"{who}: {name} removed")
    return 0
