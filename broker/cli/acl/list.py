"""``odradek acl list``: which entries there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.protocol.acl_entries import AclFilter, PatternType
from odradek.protocol.acls import ResourceType
from odradek.terminal.table import table

from .refused import refuse_acl
from .words import as_json, principal, rows

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "acl list"
_HEAD = ("PRINCIPAL", "PERMISSION", "OPERATION", "KIND", "NAME", "HOST")
_EXAMPLES = (
    "odradek acl list",
    "odradek acl list alice",
    "odradek acl list --topic orders         # all that touch it",
)


def command(arguments: list[str]) -> int:
    """Show the entries."""
    parser = cluster_parser(
        _COMMAND,
        "Show the entries, of one user, or those that touch one topic or group.",
        _EXAMPLES,
    )
    parser.add_argument("principal", nargs="?", type=principal, metavar="USER")
    touched = parser.add_mutually_exclusive_group()
    for kind in ("topic", "group"):
        touched.add_argument(
            f"--{kind}", metavar="NAME", help=f"only those that touch this {kind}"
        )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _list(cluster, options))


def _list(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.acls import describe_acls
    from odradek.protocol.errors import KafkaError

    wanted = AclFilter(principal=options.principal)
    for kind, name in (
        (ResourceType.TOPIC, options.topic),
        (ResourceType.GROUP, options.group),
    ):
        if name is not None:
            wanted = wanted._replace(
                resource_type=kind, resource_name=name, pattern_type=PatternType.MATCH
            )
    try:
        found = describe_acls(cluster, wanted)
    except KafkaError as error:
        return refuse_acl(_COMMAND, error)
    if options.json:
        for each in found:
            print_json(as_json(each))
    elif found:
        print("\n".join(table(_HEAD, rows(found))))
    else:
        print("no entries")
    return 0
