"""``odradek quota set``: limit what somebody may take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse

from .entity import entity_arguments, entity_text, number_text, required_entity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from odradek.client.cluster import Cluster
    from odradek.client.quotas import Entity

_COMMAND = "quota set"
_EXAMPLES = (
    "odradek quota set --user alice producer_byte_rate=1048576",
    "odradek quota set --client-id-default request_percentage=50",
    "odradek quota set --ip 127.0.0.1 connection_creation_rate=100 --dry-run",
)


def command(arguments: list[str]) -> int:
    """Set quotas."""
    parser = cluster_parser(
        _COMMAND,
        "Set quotas of a user, a client id, a pair of both, or an address; all of"
        " them, or none: producer_byte_rate, consumer_byte_rate, request_percentage,"
        " controller_mutation_rate; connection_creation_rate of an address.",
        _EXAMPLES,
    )
    parser.add_argument("quota", nargs="+", metavar="NAME=NUMBER")
    entity_arguments(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="only say whether it could be done"
    )
    options = parser.parse(arguments)
    entity = required_entity(parser, options)
    # Here, so that a misspelt option before one of them is what is told.
    try:
        changes = dict(map(_quota, options.quota))
    except ValueError as error:
        parser.error(str(error))
    return run(
        _COMMAND, options, lambda cluster: _set(cluster, entity, changes, options)
    )


def _quota(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (name.strip() and equals and math.isfinite(number)):
        raise ValueError(
            f"{text!r} sets no quota; write it like producer_byte_rate=1048576"
        )
    return name.strip(), number


def _set(
    cluster: Cluster,
    entity: Entity,
    changes: Mapping[str, float],
    options: argparse.Namespace,
) -> int:
    from odradek.client.quotas import Quotas, alter_quotas
    from odradek.protocol.errors import KafkaError

    from .entity import show

    who = entity_text(entity)
    try:
        alter_quotas(cluster, entity, changes, validate_only=options.dry_run)
    except KafkaError as error:
        return refuse(_COMMAND, error, who)
    if options.json:
        show([Quotas(entity, changes)], is_json=True)
        return 0
    verb = "could be set" if options.dry_run else "set"
    for name, value in changes.items():
        print(f"{who}: {name}={number_text(value)} {verb}")
    return 0
