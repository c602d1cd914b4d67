"""``odradek topic alter``: add partitions, change options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import Refused, refuse_named
from odradek.broker.cli.config.words import name_only, name_value, see_that_there_are
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "topic alter"
_EXAMPLES = (
    "odradek topic alter orders --partitions 12",
    "odradek topic alter orders --config retention.ms=86400000",
    "odradek topic alter orders --delete-config retention.ms --dry-run",
)


def command(arguments: list[str]) -> int:
    """Add partitions, change options."""
    parser = cluster_parser(
        _COMMAND,
        "Let a topic have more partitions, or other options. Records stay where they"
        " are: with more partitions, later ones of a key may go to another one.",
        _EXAMPLES,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--partitions", type=count, metavar="N", help="how many there should be in all"
    )
    parser.add_argument(
        "--config",
        type=name_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option; again for more",
    )
    parser.add_argument(
        "--delete-config",
        type=name_only,
        action="append",
        default=[],
        metavar="NAME",
        help="let an option be the default again; again for more",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say whether it could be done"
    )
    options = parser.parse(arguments)
    if options.partitions is None and not options.config + options.delete_config:
        parser.error("say what to change: --partitions, --config or --delete-config")
    return run(_COMMAND, options, lambda cluster: _alter(cluster, options))


def _alter(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.configs import (
        ConfigChange,
        ConfigResource,
        ConfigResourceType,
        Operation,
        alter_configs,
    )
    from odradek.client.topics import create_partitions
    from odradek.protocol.errors import KafkaError

    name, is_dry = options.topic, options.dry_run
    changes = [ConfigChange(Operation.SET, key, value) for key, value in options.config]
    changes += [ConfigChange(Operation.DELETE, key) for key in options.delete_config]
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    try:
        see_that_there_are(cluster, resource, options.delete_config)
        if options.partitions is not None:
            create_partitions(cluster, name, options.partitions, validate_only=is_dry)
        if changes:
            alter_configs(cluster, resource, changes, validate_only=is_dry)
    except (KafkaError, Refused) as error:
        return refuse_named(_COMMAND, cluster, error, name)
    if options.json:
        print_json(
            {
                "topic": name,
                "altered": not is_dry,
                "partitions": options.partitions,
                "set": dict(options.config),
                "deleted": options.delete_config,
            }
        )
    else:
        print(f"{printable(name)}: {'could be altered' if is_dry else 'altered'}")
    return 0
