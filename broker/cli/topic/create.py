"""``odradek topic create``: make a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse
from odradek.broker.cli.config.words import name_value
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.topics import CreatedTopic, NewTopic

_COMMAND = "topic create"
_EXAMPLES = (
    "odradek topic create orders --partitions 6",
    "odradek topic create events --config retention.ms=3600000"
    " --config cleanup.policy=delete",
    "odradek topic create state --config cleanup.policy=compact --if-not-exists",
)


def command(arguments: list[str]) -> int:
    """Make a topic."""
    options = _parse(arguments)
    return run(_COMMAND, options, lambda cluster: _create_all(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(_COMMAND, "Make topics.", _EXAMPLES)
    parser.add_argument("topic", nargs="+", metavar="TOPIC")
    parser.add_argument(
        "--partitions",
        type=count,
        metavar="N",
        help="how many (default: the broker's num.partitions)",
    )
    parser.add_argument(
        "--replication-factor",
        type=count,
        metavar="N",
        help="how many brokers keep each record (default: the broker's)",
    )
    parser.add_argument(
        "--config",
        type=name_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the topic; again for more",
    )
    parser.add_argument(
        "--if-not-exists",
        action="store_true",
        help="leave a topic alone that is there, and call that a success",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say whether it could be made"
    )
    return parser.parse(arguments)


def _create_all(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.topics import DEFAULT, NewTopic
    from odradek.protocol.errors import KafkaError, TopicAlreadyExists

    code = 0
    for name in dict.fromkeys(options.topic):
        topic = NewTopic(
            name,
            DEFAULT if options.partitions is None else options.partitions,
            DEFAULT
            if options.replication_factor is None
            else options.replication_factor,
            dict(options.config),
        )
        try:
            _create(cluster, topic, options)
        except KafkaError as error:
            if isinstance(error, TopicAlreadyExists) and options.if_not_exists:
                _say(name, "is there already", options.json, is_created=False)
            else:
                row = {"topic": name, "created": False}
                code = refuse(_COMMAND, error, name, row=row)
    return code


def _create(cluster: Cluster, topic: NewTopic, options: argparse.Namespace) -> None:
    from odradek.client.topics import create_topic

    made = create_topic(cluster, topic, validate_only=options.dry_run)
    verb = "could be created" if options.dry_run else "created"
    _say(
        topic.name,
        verb + _shape(made),
        options.json,
        is_created=not options.dry_run,
        made=made,
    )


def _shape(made: CreatedTopic) -> str:
    if made.partitions < 0:
        return ""
    word = "partition" if made.partitions == 1 else "partitions"
    return (
        f" with {made.partitions} {word}, replication factor {made.replication_factor}"
    )


def _say(
    name: str,
    text: str,
    is_json: bool,
    *,
    is_created: bool,
    made: CreatedTopic | None = None,
) -> None:
    if not is_json:
        print(f"{printable(name)}: {text}")
        return
    from odradek.protocol.uuids import to_text

    print_json(
        {
            "topic": name,
            "created": is_created,
            "topicId": to_text(made.topic_id) if made and is_created else None,
            "partitions": made and made.partitions,
            "replicationFactor": made and made.replication_factor,
        }
    )
