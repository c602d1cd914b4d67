"""``odradek topic delete-records``: delete the oldest records of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
    topic,
)
from odradek.broker.cli.arguments.refusals import Refused, refuse
from odradek.terminal.failure import FAILED
from odradek.terminal.table import table

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "topic delete-records"
_HEAD = ("TOPIC", "PARTITION", "START")
_END = "end"
_EXAMPLES = (
    "odradek topic delete-records orders:0 --before 1000",
    "odradek topic delete-records orders --before end",
)


def command(arguments: list[str]) -> int:
    """Delete the oldest records."""
    parser = cluster_parser(
        _COMMAND,
        "Delete the records before an offset. Nothing brings them back.",
        _EXAMPLES,
    )
    parser.add_argument("topic", nargs="+", type=topic, metavar="TOPIC[:0,1]")
    parser.add_argument(
        "--before",
        type=_offset,
        required=True,
        metavar="OFFSET",
        help="the first offset to keep; end: keep nothing that is there now",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _delete(cluster, options))


def _offset(text: str) -> int | None:
    return None if text == _END else count(text)


def _delete(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.broker.cli.group.plan import scope
    from odradek.client.records_deletion import HIGH_WATERMARK, delete_records

    before = HIGH_WATERMARK if options.before is None else options.before
    try:
        places = scope(cluster, options.topic, {})
    except Refused as error:
        return refuse(_COMMAND, error)
    deletion = delete_records(cluster, dict.fromkeys(places, before))
    rows = sorted((*place, start) for place, start in deletion.log_starts.items())
    if options.json:
        for name, number, start in rows:
            print_json({"topic": name, "partition": number, "start": start})
    elif rows:
        print("\n".join(table(_HEAD, rows)))
    for place, reason in sorted(deletion.failed.items()):
        refuse(_COMMAND, reason, str(place))
    return FAILED if deletion.failed else 0
