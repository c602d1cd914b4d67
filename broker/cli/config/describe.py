"""``odradek config describe``: the options of a topic, broker or group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import cluster_parser, print_json, run
from odradek.broker.cli.arguments.refusals import near_name, refuse
from odradek.terminal.table import table

from .resource import resource_arguments, resource_of

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.configs import ConfigEntry, ConfigResource

_COMMAND = "config describe"
_HEAD = ("OPTION", "VALUE", "SOURCE")
_SECRET = "(secret)"
_EXAMPLES = (
    "odradek config describe topic orders",
    "odradek config describe broker 1 --all",
    "odradek config describe topic orders --option retention.ms --json",
)


def command(arguments: list[str]) -> int:
    """Show the options of a topic, broker or group."""
    parser = cluster_parser(
        _COMMAND,
        "Ask a cluster for the options of a topic, broker or group that somebody has"
        " set, and where they come from.",
        _EXAMPLES,
    )
    resource_arguments(parser)
    parser.add_argument("--all", action="store_true", help="the defaults, too")
    parser.add_argument(
        "--option",
        action="append",
        metavar="NAME",
        help="only this one, set or not; again for more",
    )
    options = parser.parse(arguments)
    resource = resource_of(parser, options)
    return run(_COMMAND, options, lambda cluster: _describe(cluster, resource, options))


def _describe(
    cluster: Cluster, resource: ConfigResource, options: argparse.Namespace
) -> int:
    from odradek.client.configs import describe_configs
    from odradek.protocol.errors import KafkaError

    try:
        found = describe_configs(
            cluster, resource, options.option, with_documentation=options.json
        )
    except KafkaError as error:
        hint = near_name(cluster, error, options.name)
        what = f"{options.kind} {options.name}".strip()
        return refuse(_COMMAND, error, what, hint=hint)
    shown = [
        each
        for each in found
        if options.all or options.option or not _is_unchanged(each)
    ]
    if options.json:
        for entry in shown:
            print_json(_as_json(options, entry))
    elif shown:
        rows = [
            (each.name, _SECRET if each.is_sensitive else each.value, each.source)
            for each in shown
        ]
        print("\n".join(table(_HEAD, rows)))
    else:
        print("no options" if options.all else "no option is set; --all shows all")
    return 0


def _is_unchanged(entry: ConfigEntry) -> bool:
    """Whether a topic merely has what its broker has."""
    return entry.is_default or entry.source == "UNKNOWN"


def _as_json(options: argparse.Namespace, entry: ConfigEntry) -> dict[str, Any]:
    return {
        "kind": options.kind,
        "resource": options.name,
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "type": entry.type,
        "isDefault": entry.is_default,
        "isReadOnly": entry.is_read_only,
        "isSensitive": entry.is_sensitive,
        "documentation": entry.documentation,
        "synonyms": [synonym._asdict() for synonym in entry.synonyms],
    }
