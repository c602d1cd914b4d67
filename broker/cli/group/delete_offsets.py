"""``odradek group delete-offsets``: forget what a group has committed for topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    error_text,
    print_json,
    run,
    topic,
)
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "group delete-offsets"
_EXAMPLES = (
    "odradek group delete-offsets billing --topic returns",
    "odradek group delete-offsets billing --topic orders:0,1",
)


def command(arguments: list[str]) -> int:
    """Forget what was committed for topics."""
    parser = cluster_parser(
        "group delete-offsets",
        "Forget what a group has committed for topics that no member reads.",
        _EXAMPLES,
    )
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--topic",
        type=topic,
        action="append",
        required=True,
        metavar="T[:0,1]",
        help="a topic, or some of its partitions; again for more",
    )
    options = parser.parse(arguments)
    return run(
        "group delete-offsets", options, lambda cluster: _delete(cluster, options)
    )


def _delete(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.group_offsets import committed_offsets, delete_offsets
    from odradek.protocol.errors import KafkaError

    from .plan import Refused, scope

    group_id = options.group
    try:
        places = scope(cluster, options.topic, {})
        committed = committed_offsets(cluster, group_id)
        refused = delete_offsets(cluster, group_id, places)
    except (Refused, KafkaError) as error:
        return fail(_COMMAND, FAILED, f"{printable(group_id)}: {error_text(error)}")
    for place in places:
        reason = refused.get(place)
        known = committed.get(place)
        if options.json:
            print_json(
                {
                    "group": group_id,
                    "topic": place.topic,
                    "partition": place.partition,
                    "currentOffset": known and known.offset,
                    "error": reason and error_text(reason),
                }
            )
        elif reason is None:
            was = "nothing was committed" if known is None else f"was {known.offset}"
            print(f"{place}: forgotten ({was})")
        if reason is not None:
            fail(
                _COMMAND,
                FAILED,
                f"{printable(group_id)}: {place}: {error_text(reason)}",
            )
    return FAILED if refused else 0
