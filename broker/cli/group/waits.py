"""What the members of a group wait for: partitions that others read, or topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.client.groups import GroupDescription, GroupMember


def waits(group: GroupDescription) -> Iterator[str]:
    """A line for each member that does not read yet what it shall, and why."""
    if group.missing_topics and group.members:
        yield f"waits for topics: {', '.join(group.missing_topics)}"
    holders = {
        place: each.member_id
        for each in group.members
        for place in each.assignment or ()
    }
    for member in group.members:
        missing = sorted({*(member.target or ())}.difference(member.assignment or ()))
        held: dict[str, list[tuple[str, int]]] = {}
        for place in missing:
            who = holders.get(place) or _those_behind(group, member)
            held.setdefault(who, []).append(place)
        for who, places in held.items():
            name = f"{member.member_id} (epoch {member.epoch} of {group.epoch})"
            if who:
                yield f"{name} waits for {who} to give up {by_topic(places)}"
            else:
                yield f"{name} is given {by_topic(places)} with its next heartbeat"


def _those_behind(group: GroupDescription, waiting: GroupMember) -> str:
    """Who may have been told to give up what nobody is said to read any more."""
    return " or ".join(
        each.member_id
        for each in group.members
        if each is not waiting and each.epoch != group.epoch
    )


def by_topic(partitions: Iterable[tuple[str, int]]) -> str:
    """Like ``orders:0,2 payments:1``."""
    topics: dict[str, list[str]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(str(partition))
    return " ".join(f"{topic}:{','.join(each)}" for topic, each in topics.items())
