"""``odradek acl grant``: let somebody do something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.protocol.acl_entries import AclEntry, Permission
from odradek.terminal.table import printable

from .refused import refuse_acl
from .words import as_json, check_fitting, entries_of, entry_arguments, entry_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.client.cluster import Cluster

_COMMAND = "acl grant"
_EXAMPLES = (
    "odradek acl grant alice read topic 'orders-*' --group app",
    "odradek acl grant bob write,create topic orders --host 192.0.2.1",
    "odradek acl grant ops all cluster",
)


def command(arguments: list[str]) -> int:
    """Let somebody do something."""
    parser = cluster_parser(
        _COMMAND,
        "Let a user do something: read, write, create, delete, alter, describe and"
        " more, or all. To read, write, delete or alter is to describe, too.",
        _EXAMPLES,
    )
    entry_arguments(parser)
    options = parser.parse(arguments)
    check_fitting(parser, options.kind, options.operations)
    entries = entries_of(parser, options, Permission.ALLOW)
    return run(_COMMAND, options, lambda cluster: create(cluster, options, entries))


def create(
    cluster: Cluster, options: argparse.Namespace, entries: Sequence[AclEntry]
) -> int:
    """Create the entries, and say which they are; the exit code."""
    from odradek.client.acls import create_acls
    from odradek.protocol.errors import KafkaError

    is_grant = entries[0].permission == Permission.ALLOW
    try:
        create_acls(cluster, entries)
    except KafkaError as error:
        return refuse_acl(
            _COMMAND if is_grant else "acl deny", error, options.principal
        )
    for each in entries:
        if options.json:
            print_json(as_json(each))
        else:
            print(printable(entry_text(each)))
    return 0
