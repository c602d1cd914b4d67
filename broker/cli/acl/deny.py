"""``odradek acl deny``: forbid something, whatever else is granted."""

from __future__ import annotations

from odradek.broker.cli.arguments.cluster_options import cluster_parser, run
from odradek.protocol.acl_entries import Permission

from .grant import create
from .words import check_fitting, entries_of, entry_arguments

_COMMAND = "acl deny"
_EXAMPLES = (
    "odradek acl deny bob write topic orders",
    "odradek acl deny '*' all topic 'secret-*' --host 192.0.2.1",
)


def command(arguments: list[str]) -> int:
    """Forbid something, whatever else is granted."""
    parser = cluster_parser(
        _COMMAND,
        "Forbid a user something: such an entry is stronger than all that grant. It"
        " implies nothing: who may not read may describe all the same.",
        _EXAMPLES,
    )
    entry_arguments(parser)
    options = parser.parse(arguments)
    check_fitting(parser, options.kind, options.operations)
    entries = entries_of(parser, options, Permission.DENY)
    return run(_COMMAND, options, lambda cluster: create(cluster, options, entries))
