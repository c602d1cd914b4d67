"""``odradek config alter``: change options of a topic, broker or group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, print_json, run
from odradek.broker.cli.arguments.refusals import Refused, near_name, refuse

from .resource import resource_arguments, resource_of
from .words import name_only, name_value, see_that_there_are

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.configs import ConfigChange, ConfigResource

_COMMAND = "config alter"
# Of the message that every broker has for what it reads only when it starts.
_FIXED = "Cannot update these configs dynamically"
_FIXED_HINT = (
    "(a broker reads them when it starts: set them in its properties file, or with"
    " 'odradek serve -o NAME=VALUE', and start it again)"
)
_EXAMPLES = (
    "odradek config alter topic orders --set retention.ms=86400000",
    "odradek config alter topic orders --append cleanup.policy=compact",
    "odradek config alter broker --set log.cleaner.threads=2",
    "odradek config alter topic orders --delete retention.ms --dry-run",
)


def command(arguments: list[str]) -> int:
    """Change options of a topic, broker or group."""
    parser = cluster_parser(
        _COMMAND,
        "Change options of a topic, broker or group: all of the changes, or none.",
        _EXAMPLES,
    )
    resource_arguments(parser)
    for flag, what in {
        "--set": "give an option a value",
        "--append": "add to an option that is a list",
        "--subtract": "take away from an option that is a list",
    }.items():
        parser.add_argument(
            flag,
            type=name_value,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"{what}; again for more",
        )
    parser.add_argument(
        "--delete",
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
    resource = resource_of(parser, options)
    if not (options.set or options.append or options.subtract or options.delete):
        parser.error("say what to change: --set, --delete, --append or --subtract")
    return run(_COMMAND, options, lambda cluster: _alter(cluster, resource, options))


def _alter(
    cluster: Cluster, resource: ConfigResource, options: argparse.Namespace
) -> int:
    from odradek.client.configs import alter_configs
    from odradek.protocol.errors import KafkaError

    changes = _changes(options)
    try:
        if options.kind == "topic":
            see_that_there_are(cluster, resource, options.delete)
        alter_configs(cluster, resource, changes, validate_only=options.dry_run)
    except (KafkaError, Refused) as error:
        hint = near_name(cluster, error, options.name)
        if _FIXED in str(error):
            hint = _FIXED_HINT
        what = f"{options.kind} {options.name}".strip()
        return refuse(_COMMAND, error, what, hint=hint)
    what = f"{options.kind} {options.name}".strip()
    if options.json:
        print_json(
            {
                "kind": options.kind,
                "resource": options.name,
                "altered": not options.dry_run,
                "changes": [
                    {"operation": each[0].name, "name": each[1], "value": each[2]}
                    for each in changes
                ],
            }
        )
    else:
        print(f"{what}: {'could be altered' if options.dry_run else 'altered'}")
    return 0


def _changes(options: argparse.Namespace) -> list[ConfigChange]:
    from odradek.client.configs import ConfigChange, Operation

    given = [
        (Operation.SET, options.set),
        (Operation.APPEND, options.append),
        (Operation.SUBTRACT, options.subtract),
        (Operation.DELETE, [(name, None) for name in options.delete]),
    ]
    return [
        ConfigChange(operation, name, value)
        for operation, pairs in given
        for name, value in pairs
    ]
