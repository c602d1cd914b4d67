"""The range assignor: of each topic every subscriber gets consecutive partitions.

It has no memory. Static members come first, by their instance ids, so that one which
comes back under another member id gets the same; topics with the same subscribers and
as many partitions are divided alike, so that their partitions can be joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Partitions

    from .subscriber import Subscriber


def assign_range(
    subscribers: Sequence[Subscriber], counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """What each member shall read; ``counts`` has the partitions of every topic."""
    ordered = sorted(subscribers, key=_order)
    assigned: dict[str, dict[bytes, frozenset[int]]] = {
        each.member_id: {} for each in subscribers
    }
    for topic_id, count in sorted(counts.items()):
        readers = [each.member_id for each in ordered if topic_id in each.topic_ids]
        least, extra = divmod(count, len(readers)) if readers else (0, 0)
        begin = 0
        for position, member_id in enumerate(readers):
            end = begin + least + (position < extra)
            if end > begin:
                assigned[member_id][topic_id] = frozenset(range(begin, end))
            begin = end
    return dict(assigned)


def _order(subscriber: Subscriber) -> tuple[bool, str]:
    instance_id = subscriber.instance_id
    if instance_id is None:
        return True, subscriber.member_id
    return False, instance_id
