"""``odradek topic list``: which topics there are."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, print_json, run
from odradek.terminal.table import table

if TYPE_CHECKING:
    from odradek.client.cluster import Cluster

_COMMAND = "topic list"
_HEAD = ("TOPIC", "PARTITIONS", "REPLICAS")
_EXAMPLES = (
    "odradek topic list",
    "odradek topic list --pattern 'orders.*' --json",
    "odradek topic list --internal --bootstrap-server kafka-1:9092",
)


def command(arguments: list[str]) -> int:
    """Name the topics."""
    parser = cluster_parser(_COMMAND, "Name the topics of a cluster.", _EXAMPLES)
    parser.add_argument(
        "--internal", action="store_true", help="those of the brokers themselves, too"
    )
    parser.add_argument(
        "--pattern",
        type=pattern,
        metavar="REGEX",
        help="only names that match this regular expression as a whole",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _list(cluster, options))


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression; for ``type=``."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a regular expression: {error}"
        ) from None


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.topics import describe_topics
    from odradek.protocol.uuids import to_text

    rows = []
    for topic in describe_topics(cluster).found.values():
        if topic.is_internal and not options.internal:
            continue
        if options.pattern and not options.pattern.fullmatch(topic.name):
            continue
        replicas = max((len(each.replicas) for each in topic.partitions), default=0)
        rows.append((topic.name, len(topic.partitions), replicas))
        if options.json:
            print_json(
                {
                    "topic": topic.name,
                    "topicId": to_text(topic.topic_id),
                    "internal": topic.is_internal,
                    "partitions": len(topic.partitions),
                    "replicationFactor": replicas,
                }
            )
    if not options.json:
        print("\n".join(table(_HEAD, rows)) if rows else "no topics")
    return 0
