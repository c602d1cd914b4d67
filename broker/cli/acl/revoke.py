"""``odradek acl revoke``: take an entry back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.protocol.acl_entries import AclEntry, AclFilter, Permission
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

from .refused import refuse_acl
from .words import (
    as_json,
    entries_of,
    entry_arguments,
    entry_text,
    java_address,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.client.cluster import Cluster

_COMMAND = "acl revoke"
_EXAMPLES = (
    "odradek acl revoke alice read topic 'orders-*' --group app",
    "odradek acl revoke bob write topic orders --deny",
)


def command(arguments: list[str]) -> int:
    """Take an entry back."""
    parser = cluster_parser(
        _COMMAND,
        "Take an entry back, as it was granted: what is granted by another entry"
        " stays so.",
        _EXAMPLES,
    )
    entry_arguments(parser, read_host=str)  # others may have made any
    parser.add_argument(
        "--deny", action="store_true", help="the entry is one that forbids"
    )
    options = parser.parse(arguments)
    permission = Permission.DENY if options.deny else Permission.ALLOW
    entries = entries_of(parser, options, permission)
    return run(_COMMAND, options, lambda cluster: _revoke(cluster, options, entries))


def _revoke(
    cluster: Cluster, options: argparse.Namespace, entries: Sequence[AclEntry]
) -> int:
    from odradek.client.acls import delete_acls
    from odradek.protocol.errors import KafkaError

    try:
        gone = delete_acls(cluster, _filters(entries))
    except KafkaError as error:
        return refuse_acl(_COMMAND, error, options.principal)
    for each in gone:
        if options.json:
            print_json({**as_json(each), "revoked": True})
        else:
            print(printable(f"revoked: {entry_text(each)}"))
    if not gone:
        who = options.principal.removeprefix("User:")
        return fail(
            _COMMAND,
            FAILED,
            f"there is no such entry; 'odradek acl list {who}' shows those there are",
            what=options.principal,
            name="NO_SUCH_ENTRY",
        )
    return 0


def _filters(entries: Sequence[AclEntry]) -> list[AclFilter]:
    """For these entries, with the address as it was typed, and as we would write it."""
    typed = [_exactly(each) for each in entries]
    written = [
        each._replace(host=address)
        for each in typed
        if (address := java_address(each.host or "")) is not None
    ]
    return list(dict.fromkeys(typed + written))


def _exactly(entry: AclEntry) -> AclFilter:
    return AclFilter(
        entry.resource_type,
        entry.resource_name,
        entry.pattern_type,
        entry.principal,
        entry.host,
        entry.operation,
        entry.permission,
    )
