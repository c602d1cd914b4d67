"""``odradek txn find-hanging``: what is open in logs, and no coordinator will end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
    topic,
)
from odradek.broker.cli.arguments.moments import duration_ms, duration_text, moment_text
from odradek.broker.cli.arguments.refusals import Refused, refuse
from odradek.terminal.failure import FAILED
from odradek.terminal.table import table

from .abort import producer_json

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "txn find-hanging"
_HEAD = (
    "TOPIC",
    "PARTITION",
    "PRODUCER-ID",
    "EPOCH",
    "START-OFFSET",
    "LAST-RECORD",
    "SILENT-FOR",
)
_EXAMPLES = (
    "odradek txn find-hanging",
    "odradek txn find-hanging --topic orders:0,1 --older-than 1h",
)


def command(arguments: list[str]) -> int:
    """Find what is open in logs for too long."""
    parser = cluster_parser(
        _COMMAND,
        "Find transactions that are open in logs and that no coordinator will end:"
        " readers of committed records wait behind them.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--topic",
        type=topic,
        action="append",
        default=[],
        metavar="T[:0,1]",
        help="only in a topic, or some of its partitions; again for more",
    )
    parser.add_argument(
        "--older-than",
        type=duration_ms,
        default=900_000,
        metavar="TIME",
        help="without a record since then (default: 15m, which is also that of"
        " transaction.max.timeout.ms)",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _find(cluster, options))


def _find(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.broker.cli.group.plan import scope
    from odradek.client.hanging import find_hanging
    from odradek.protocol.topic_partition import TopicPartition

    if options.topic:
        try:
            places = scope(cluster, options.topic, {})
        except Refused as error:
            return refuse(_COMMAND, error)
    else:
        topics = cluster.metadata().topics.values()
        places = [TopicPartition(it.name, number) for it in topics for number in it[2]]
    now_ms = int(time.time() * 1000)
    hanging = find_hanging(cluster, places, now_ms - options.older_than)
    rows = []
    for each in hanging.found:
        if options.json:
            print_json(producer_json(each))
        silent_for = duration_text(now_ms - each.last_timestamp_ms)
        rows.append(
            (*each.place, each.producer_id, each.producer_epoch, each.start_offset)
            + (moment_text(each.last_timestamp_ms), silent_for)
        )
    if not options.json:
        print("\n".join(table(_HEAD, rows)) if rows else "nothing hangs")
    for place, reason in hanging.failed.items():
        refuse(_COMMAND, reason, str(place))
    return FAILED if hanging.failed else 0
