"""``odradek group reset-offsets``: let a group go on from other offsets.

Nothing is changed without ``--execute``: what would be is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    error_text,
    offset,
    print_json,
    run,
    topic,
)
from odradek.broker.cli.arguments.moments import duration_ms, moment_ms
from odradek.broker.cli.arguments.refusals import Refused, name_of, refuse
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from odradek.client.cluster import Cluster
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

    from .plan import Move

_COMMAND = "group reset-offsets"
_HEAD = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "NEW-OFFSET", "NOTE")
_EXAMPLES = (
    "odradek group reset-offsets billing --to-earliest --topic orders",
    "odradek group reset-offsets billing --by-duration 2h --all-topics",
    "odradek group reset-offsets billing --shift-by -100 --topic orders:0 --execute",
)


def command(arguments: list[str]) -> int:
    """Let a group go on from other offsets."""
    options = _parse(arguments)
    return run("group reset-offsets", options, lambda cluster: _reset(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        "group reset-offsets",
        "Show from where a group without members would go on; with --execute, make it"
        " so.",
        _EXAMPLES,
    )
    parser.add_argument("group", metavar="GROUP")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to-earliest", action="store_true", help="to where the logs begin"
    )
    target.add_argument("--to-latest", action="store_true", help="to where they end")
    target.add_argument("--to-offset", type=offset, metavar="N", help="to this offset")
    target.add_argument(
        "--to-datetime",
        type=moment_ms,
        metavar="TIME",
        help="to the first record since then, like 2026-01-31T12:00:00Z",
    )
    target.add_argument(
        "--by-duration",
        type=duration_ms,
        metavar="TIME",
        help="to the first record of the last 2h, 7d, PT30M",
    )
    target.add_argument(
        "--shift-by",
        type=offset,
        metavar="N",
        help="on by N offsets, back when negative",
    )
    scope = parser.add_mutually_exclusive_group(required=True)
    scope.add_argument(
        "--topic",
        type=topic,
        action="append",
        default=[],
        metavar="T[:0,1]",
        help="a topic, or some of its partitions; again for more",
    )
    scope.add_argument(
        "--all-topics", action="store_true", help="all that the group has committed"
    )
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.add_argument(
        "--dry-run", action="store_true", help="only show it (the default)"
    )
    options = parser.parse(arguments)
    if options.execute and options.dry_run:
        parser.error("--execute or --dry-run, not both")
    return options


def _reset(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.protocol.errors import KafkaError

    from .plan import plan, scope, target_of
    from .positions import positions_of

    group_id = options.group
    try:
        positions = positions_of(cluster, group_id, _refuse_members(cluster, group_id))
        committed = positions.known()
        places = scope(cluster, options.topic, committed)
        moves = plan(cluster, places, committed, target_of(options))
    except (Refused, KafkaError) as error:
        return refuse(_COMMAND, error, group_id)
    refused: Mapping[TopicPartition, KafkaError] = {}
    if options.execute:
        refused = positions.set({move.place: move.offset for move in moves})
    if not options.json:
        _show(moves, refused, options)
    answer = {
        "group": group_id,
        "executed": options.execute,
        "partitions": [_as_json(move, refused.get(move.place)) for move in moves],
    }
    if refused:
        why = (f"{place}: {error_text(each)}" for place, each in refused.items())
        name = name_of(next(iter(refused.values())))
        text = "; ".join(why)
        return fail(_COMMAND, FAILED, text, what=group_id, name=name, row=answer)
    if options.json:
        print_json(answer)
    return 0


def _refuse_members(cluster: Cluster, group_id: str) -> str:
    """The group's type; one that is not there begins with what is set for it."""
    from odradek.client.groups import CLASSIC, DEAD, EMPTY, describe_group
    from odradek.protocol.errors import GroupIdNotFound

    try:
        group = describe_group(cluster, group_id)
    except GroupIdNotFound:
        return CLASSIC
    if group.state not in (EMPTY, DEAD):
        count = len(group.members)
        members = "1 member" if count == 1 else f"{count} members"
        raise Refused(
            f"the group has {members} and is {group.state}: stop them first, or they"
            " would overwrite what is set"
        )
    return group.group_type


def _show(
    moves: Sequence[Move],
    refused: Mapping[TopicPartition, KafkaError],
    options: argparse.Namespace,
) -> None:
    rows = [(*move.place, move.current, move.offset, move.note) for move in moves]
    print("\n".join(table(_HEAD, rows)))
    if not options.execute:
        print("nothing was changed (dry run); --execute does it")
        return
    done = len(moves) - len(refused)
    print("1 offset was set" if done == 1 else f"{done} offsets were set")


def _as_json(move: Move, error: KafkaError | None) -> dict[str, object]:
    return {
        "topic": move.place.topic,
        "partition": move.place.partition,
        "currentOffset": move.current,
        "newOffset": move.offset,
        "note": move.note or None,
        "error": error and error_text(error),
    }
