"""``odradek group delete``: remove groups, with what they have committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.table import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.client.cluster import Cluster
_EXAMPLES = (
    "odradek group delete billing",
    "odradek group delete old-1 old-2 --json",
)


def command(arguments: list[str]) -> int:
    """Remove groups without members."""
    parser = cluster_parser(
        "group delete",
        "Remove groups that have no members, and what they have committed.",
        _EXAMPLES,
    )
    parser.add_argument("group", nargs="+", metavar="GROUP")
    options = parser.parse(arguments)
    return run(
        "group delete",
        options,
        lambda cluster: _delete(cluster, options.group, options.json),
    )


def _delete(cluster: Cluster, groups: Sequence[str], is_json: bool) -> int:
    """Each group for itself: one that stays is no reason to keep the others."""
    from odradek.client.groups import delete_group
    from odradek.protocol.errors import KafkaError

    code = 0
    for group_id in dict.fromkeys(groups):
        try:
            delete_group(cluster, group_id)
        except KafkaError as error:
            row = {"group": group_id, "deleted": False}
            code = refuse_named("group delete", cluster, error, group_id, row=row)
            continue
        if is_json:
            print_json({"group": group_id, "deleted": True, "error": None})
        else:
            print(f"{printable(group_id)}: deleted")
    return code
