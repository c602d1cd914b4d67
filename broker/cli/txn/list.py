"""``odradek txn list``: which transactional ids there are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
    word_of,
)
from odradek.broker.cli.arguments.moments import duration_ms
from odradek.terminal.table import marked, table

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "txn list"
STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
# Its end is decided, and not all markers are written.
UNSETTLED = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence", "Dead")
_HEAD = ("TRANSACTIONAL-ID", "STATE", "PRODUCER-ID", "COORDINATOR")
_EXAMPLES = (
    "odradek txn list",
    "odradek txn list --state Ongoing --longer-than 10m",
    "odradek txn list --pattern 'billing-.*' --json",
)


def command(arguments: list[str]) -> int:
    """Name the transactional ids."""
    options = _parse(arguments)
    return run(_COMMAND, options, lambda cluster: _list(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        _COMMAND,
        "Name the transactional ids of a cluster.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--state",
        type=word_of(STATES),
        nargs="+",
        action="extend",
        default=[],
        metavar="STATE",
        help=f"only these: {', '.join(STATES)}",
    )
    parser.add_argument(
        "--producer-id",
        type=count,
        nargs="+",
        action="extend",
        default=[],
        metavar="N",
        help="only those of these producers",
    )
    parser.add_argument(
        "--longer-than",
        type=duration_ms,
        default=-1,
        metavar="TIME",
        help="only transactions that run for longer than 30s, 10m, PT1H",
    )
    parser.add_argument(
        "--pattern",
        default="",
        metavar="REGEX",
        help="only names that match this regular expression as a whole",
    )
    return parser.parse(arguments)


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.transactions import (
        RUNNING,
        TransactionFilter,
        list_transactions,
    )

    states = list(chain(*options.state))
    if options.longer_than >= 0 and not states:
        # Brokers let ids pass, too, that never began a transaction.
        states = list(RUNNING)
    wanted = TransactionFilter(
        states, options.producer_id, options.longer_than, options.pattern
    )
    found = list_transactions(cluster, wanted)
    if options.json:
        for each in found:
            print_json(
                {
                    "transactionalId": each.transactional_id,
                    "state": each.state,
                    "producerId": each.producer_id,
                    "coordinator": each.coordinator.node_id,
                }
            )
    elif found:
        rows = [
            (each.transactional_id, marked(each.state, each.state in UNSETTLED))
            + (each.producer_id, each.coordinator)
            for each in found
        ]
        print("\n".join(table(_HEAD, rows)))
    else:
        print("no transactional ids")
    return 0
