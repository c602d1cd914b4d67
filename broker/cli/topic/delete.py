"""``odradek topic delete``: delete topics with all their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.table import printable

from .list import pattern

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "topic delete"
_DRY_RUN = "nothing was deleted (dry run); --execute does it"
_EXAMPLES = (
    "odradek topic delete orders",
    "odradek topic delete scratch-1 scratch-2 --if-exists",
    "odradek topic delete --pattern 'scratch-.*'            # shows which",
    "odradek topic delete --pattern 'scratch-.*' --execute",
)


def command(arguments: list[str]) -> int:
    """Delete topics with all their records."""
    parser = cluster_parser(
        _COMMAND,
        "Delete topics with all their records. Nothing brings them back.",
        _EXAMPLES,
    )
    parser.add_argument("topic", nargs="*", metavar="TOPIC")
    parser.add_argument(
        "--if-exists",
        action="store_true",
        help="call it a success when a topic is not there",
    )
    parser.add_argument(
        "--pattern",
        type=pattern,
        metavar="REGEX",
        help="those whose names match this regular expression as a whole, but for the"
        " brokers' own; without --execute they are only shown",
    )
    parser.add_argument(
        "--execute", action="store_true", help="delete what --pattern finds"
    )
    options = parser.parse(arguments)
    if bool(options.topic) == bool(options.pattern):
        parser.error("say which topics: by their names, or by --pattern REGEX")
    if options.execute and not options.pattern:
        parser.error("--execute is for --pattern; named topics are deleted at once")
    act = _delete_matching if options.pattern else _delete
    return run(_COMMAND, options, lambda cluster: act(cluster, options))


def _delete_matching(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.topics import describe_topics

    options.topic = sorted(
        topic.name
        for topic in describe_topics(cluster).found.values()
        if not topic.is_internal and options.pattern.fullmatch(topic.name)
    )
    if options.execute and options.topic:
        return _delete(cluster, options)
    for name in options.topic:
        if options.json:
            print_json({"topic": name, "deleted": False, "error": None})
        else:
            print(f"{printable(name)}: would be deleted")
    if not options.json:
        print(_DRY_RUN if options.topic else "no topic has such a name")
    return 0


def _delete(cluster: Cluster, options: argparse.Namespace) -> int:
    """Each topic for itself: one that stays is no reason to keep the others."""
    from odradek.client.topics import delete_topic
    from odradek.protocol.errors import KafkaError, UnknownTopicOrPartition

    code = 0
    for name in dict.fromkeys(options.topic):
        is_deleted = True
        try:
            delete_topic(cluster, name)
        except KafkaError as error:
            is_deleted = False
            if not (options.if_exists and isinstance(error, UnknownTopicOrPartition)):
                row = {"topic": name, "deleted": False}
                code = refuse_named(_COMMAND, cluster, error, name, row=row)
                continue
        if options.json:
            print_json({"topic": name, "deleted": is_deleted, "error": None})
        else:
            verb = "deleted" if is_deleted else "is not there"
            print(f"{printable(name)}: {verb}")
    return code
