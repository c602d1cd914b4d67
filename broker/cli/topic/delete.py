"""``odradek topic delete``: delete topics with all their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    error_text,
    print_json,
    run,
)
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "topic delete"
_EXAMPLES = (
    "odradek topic delete orders",
    "odradek topic delete scratch-1 scratch-2 --if-exists",
)


def command(arguments: list[str]) -> int:
    """Delete topics with all their records."""
    parser = cluster_parser(
        _COMMAND,
        "Delete topics with all their records. Nothing brings them back.",
        _EXAMPLES,
    )
    parser.add_argument("topic", nargs="+", metavar="TOPIC")
    parser.add_argument(
        "--if-exists",
        action="store_true",
        help="call it a success when a topic is not there",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _delete(cluster, options))


def _delete(cluster: Cluster, options: argparse.Namespace) -> int:
    """Each topic for itself: one that stays is no reason to keep the others."""
    from odradek.client.topics import delete_topic
    from odradek.protocol.errors import KafkaError, UnknownTopicOrPartition

    code = 0
    for name in dict.fromkeys(options.topic):
        reason, is_deleted = None, True
        try:
            delete_topic(cluster, name)
        except KafkaError as error:
            is_deleted = False
            if not (options.if_exists and isinstance(error, UnknownTopicOrPartition)):
                reason = error_text(error)
                code = fail(_COMMAND, FAILED, f"{printable(name)}: {reason}")
        if options.json:
            print_json({"topic": name, "deleted": is_deleted, "error": reason})
        elif reason is None:
            verb = "deleted" if is_deleted else "is not there"
            print(f"{printable(name)}: {verb}")
    return code
