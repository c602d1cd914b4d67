"""``odradek group delete-offsets``: forget what a group has committed for topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
    topic,
)
from odradek.broker.cli.arguments.refusals import Refused, refuse, refuse_named
from odradek.terminal.failure import FAILED

from .list import SHARE

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
        "Forget where a group is in topics that no member reads.",
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
    from odradek.protocol.errors import KafkaError

    from .plan import scope
    from .positions import positions_of, type_of

    group_id = options.group
    try:
        places = scope(cluster, options.topic, {})
        kind = type_of(cluster, group_id)
        if kind == SHARE and any(numbers is not None for _, numbers in options.topic):
            raise Refused("a share group forgets whole topics: name no partitions")
        positions = positions_of(cluster, group_id, kind)
        committed = positions.known()
        refused = positions.forget(places)
    except (Refused, KafkaError) as error:
        return refuse_named(_COMMAND, cluster, error, group_id)
    for place in places:
        known = committed.get(place)
        row = {
            "group": group_id,
            "topic": place.topic,
            "partition": place.partition,
            "currentOffset": known,
        }
        if place in refused:
            what = f"{group_id}: {place}"
            refuse(_COMMAND, refused[place], what, row=row)
        elif options.json:
            print_json({**row, "error": None})
        else:
            was = "nothing was committed" if known is None else f"was {known}"
            print(f"{place}: forgotten ({was})")
    return FAILED if refused else 0
