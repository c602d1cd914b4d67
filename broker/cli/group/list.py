"""``odradek group list``: which groups there are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
    word_of,
)
from odradek.terminal.table import marked, table

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.groups import GroupListing

STATES = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Assigning",
    "Reconciling",
    "NotReady",
)
# Its members read nothing now.
UNSETTLED = ("PreparingRebalance", "CompletingRebalance", "Dead", "NotReady")
SHARE = "share"
TYPES = ("classic", "consumer", SHARE, "streams")
_EXAMPLES = (
    "odradek group list",
    "odradek group list --state Stable Empty --type consumer",
)


def command(arguments: list[str]) -> int:
    """Name the groups, by state or type."""
    options = _parse(arguments)
    return run("group list", options, lambda cluster: _list(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        "group list",
        "Name the groups of a cluster.",
        _EXAMPLES,
    )
    for name, known in (("--state", STATES), ("--type", TYPES)):
        parser.add_argument(
            name,
            type=word_of(known),
            nargs="+",
            action="extend",
            default=[],
            metavar=name.strip("-").upper(),
            help=f"only these: {', '.join(known)}",
        )
    return parser.parse(arguments)


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.groups import list_groups

    states, types = chain(*options.state), chain(*options.type)
    groups = list_groups(cluster, list(states), list(types))
    if options.json:
        for group in groups:
            print_json(_as_json(group))
    elif groups:
        rows = [
            (each.group_id, each.group_type or None, each.protocol_type or None)
            + (marked(each.state or None, each.state in UNSETTLED),)
            for each in groups
        ]
        print("\n".join(table(("GROUP", "TYPE", "PROTOCOL", "STATE"), rows)))
    else:
        print("no groups")
    return 0


def _as_json(group: GroupListing) -> dict[str, str | None]:
    return {
        "group": group.group_id,
        "type": group.group_type or None,
        "protocolType": group.protocol_type,
        "state": group.state or None,
    }
