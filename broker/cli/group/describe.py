"""``odradek group describe``: members, committed offsets, and how far behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.table import marked, printable, table

from .list import SHARE, UNSETTLED
from .waits import by_topic, waits

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from odradek.client.cluster import Cluster
    from odradek.client.streams_groups import Tasks

    from .lag import GroupLag

_OFFSETS_HEAD = (
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
_PLACES_HEAD = (
    "TOPIC",
    "PARTITION",
    "START-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "#MEMBERS",
)
_MEMBERS_HEAD = (
    "CONSUMER-ID",
    "GROUP-INSTANCE-ID",
    "HOST",
    "CLIENT-ID",
    "#PARTITIONS",
    "ASSIGNMENT",
)
_TASKS_HEAD = (
    "MEMBER-ID",
    "PROCESS-ID",
    "HOST",
    "CLIENT-ID",
    "#TASKS",
    "ACTIVE",
    "STANDBY",
)
_STATE_HEAD = ("GROUP", "COORDINATOR (ID)", "ASSIGNOR", "TYPE", "STATE", "#MEMBERS")
_EXAMPLES = (
    "odradek group describe billing",
    "odradek group describe --all --state",
    "odradek group describe billing --members --json",
)


def command(arguments: list[str]) -> int:
    """Show members, committed offsets and lag."""
    parser = cluster_parser(
        "group describe",
        "Show the members, committed offsets and lag of groups.",
        _EXAMPLES,
    )
    parser.add_argument("group", nargs="*", metavar="GROUP")
    parser.add_argument("--all", action="store_true", help="all groups of the cluster")
    views = parser.add_mutually_exclusive_group()
    views.add_argument(
        "--members", action="store_true", help="a line for each member, without offsets"
    )
    views.add_argument(
        "--state", action="store_true", help="a line for each group, without offsets"
    )
    options = parser.parse(arguments)
    if bool(options.group) == options.all:
        parser.error("say which groups, or --all")
    return run("group describe", options, lambda cluster: _describe(cluster, options))


def _describe(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.groups import list_groups
    from odradek.protocol.errors import KafkaError

    from .lag import group_lag

    names = options.group
    if options.all:
        names = [group.group_id for group in list_groups(cluster)]
    found, code = [], 0
    for group_id in dict.fromkeys(names):
        try:
            with_offsets = not (options.members or options.state)
            found.append(group_lag(cluster, group_id, with_offsets))
        except KafkaError as error:
            code = refuse_named(
                "group describe", cluster, error, group_id, row={"group": group_id}
            )
    _show(found, options)
    return code


def _show(found: list[GroupLag], options: argparse.Namespace) -> None:
    if options.json:
        for each in found:
            print_json(each.as_json())
    elif not found:
        if options.all:
            print("no groups")
    elif options.state:
        print("\n".join(table(_STATE_HEAD, map(_state_row, found))))
    else:
        text = _members_text if options.members else _offsets_text
        print("\n\n".join("\n".join(text(each)) for each in found))


def _state_row(lag: GroupLag) -> tuple[object, ...]:
    group = lag.group
    where = f"{group.coordinator.address} ({group.coordinator.node_id})"
    count = len(group.members)
    kind = group.group_type
    state = marked(group.state, group.state in UNSETTLED)
    return (group.group_id, where, group.assignor or None, kind, state, count)


def _title(lag: GroupLag) -> str:
    group = lag.group
    count = len(group.members)
    parts = [
        group.state,
        " ".join(dict.fromkeys((group.group_type, group.protocol_type))).strip(),
        f"assignor {group.assignor}" if group.assignor else "",
        "" if group.epoch is None else f"epoch {group.epoch}",
        f"{count} member" if count == 1 else f"{count} members",
        f"coordinator {group.coordinator}",
    ]
    return printable(f"group {group.group_id}: {', '.join(filter(None, parts))}")


def _offsets_text(lag: GroupLag) -> Iterable[str]:
    yield _title(lag)
    if not lag.partitions:
        yield "nothing committed, nothing assigned"
        yield from map(printable, waits(lag.group))
        return
    if lag.group.group_type == SHARE:
        yield from _places_table(lag)
    else:
        yield from _offsets_table(lag)
    for each in lag.partitions:
        if each.error is not None:
            yield f"{each.place}: {each.error}"
    yield f"total lag: {lag.total}"
    yield from map(printable, waits(lag.group))


def _offsets_table(lag: GroupLag) -> Iterable[str]:
    rows = []
    for each in lag.partitions:
        owner = each.owner
        named = (owner.member_id, owner.host, owner.client_id) if owner else (None,) * 3
        rows.append((*each.place, each.committed, each.log_end, each.lag, *named))
    return table(_OFFSETS_HEAD, rows)


def _places_table(lag: GroupLag) -> Iterable[str]:
    """Of a share group: the first record that is not done, and who shares the rest."""
    readers = Counter(
        place for member in lag.group.members for place in member.assignment or ()
    )
    rows = [
        (*each.place, each.committed, each.log_end, each.lag, readers[each.place])
        for each in lag.partitions
    ]
    return table(_PLACES_HEAD, rows)


def _members_text(lag: GroupLag) -> Iterable[str]:
    yield _title(lag)
    if not lag.group.members:
        return
    if any(each.tasks for each in lag.group.members):
        yield from _tasks_table(lag)
    else:
        yield from _members_table(lag)
    yield from map(printable, waits(lag.group))


def _tasks_table(lag: GroupLag) -> Iterable[str]:
    """Of a streams group: a task is a subtopology and a partition of its input."""
    rows = []
    for each in lag.group.members:
        if (tasks := each.tasks) is not None:
            count = sum(map(len, tasks.active.values()))
            roles = (_tasks_text(tasks.active), _tasks_text(tasks.standby))
            row = (each.member_id, tasks.process_id, each.host, each.client_id, count)
            rows.append((*row, *roles))
    return table(_TASKS_HEAD, rows)


def _tasks_text(tasks: Tasks) -> str:
    return " ".join(f"{key}:{','.join(map(str, of))}" for key, of in tasks.items())


def _members_table(lag: GroupLag) -> Iterable[str]:
    rows = [
        (
            each.member_id,
            each.instance_id,
            each.host,
            each.client_id,
            None if each.assignment is None else len(each.assignment),
            by_topic(each.assignment or ()),
        )
        for each in lag.group.members
    ]
    return table(_MEMBERS_HEAD, rows)
