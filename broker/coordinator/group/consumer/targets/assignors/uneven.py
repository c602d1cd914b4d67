"""The uniform assignor where members subscribe to different topics.

What nobody has goes to the least loaded subscribers; then, topic after topic, the most
loaded one gives to the least loaded one, until they differ by one at most, in a few
rounds: a move for one topic can unbalance another.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from .subscriber import by_topic, places_kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Partitions

    from .subscriber import Subscriber

ROUNDS_MAX = 16


def assign_uneven(
    ordered: Sequence[Subscriber], counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """What each member shall read; the members come in their order."""
    sharing = _Sharing(ordered, counts)
    sharing.give_free()
    for _ in range(ROUNDS_MAX):
        if not sharing.balance():
            break
    return sharing.result()


class _Sharing:
    """Members are known by their position, partitions by topic and number."""

    def __init__(
        self, ordered: Sequence[Subscriber], counts: Mapping[bytes, int]
    ) -> None:
        self._members = ordered
        self._counts = counts
        self._readers: dict[bytes, list[int]] = {}
        for position, each in enumerate(ordered):
            for topic_id in each.topic_ids & counts.keys():
                self._readers.setdefault(topic_id, []).append(position)
        self._had: dict[bytes, dict[int, list[int]]] = {
            topic_id: {position: [] for position in readers}
            for topic_id, readers in self._readers.items()
        }
        self._loads = [0] * len(ordered)
        self._owned: set[tuple[bytes, int]] = set()
        for position, each in enumerate(ordered):
            for place in places_kept(each, counts):
                # Of a target two members never have the same: it is taken once.
                if place not in self._owned:
                    self._give(*place, position)

    def _give(self, topic_id: bytes, partition: int, position: int) -> None:
        self._owned.add((topic_id, partition))
        self._had[topic_id][position].append(partition)
        self._loads[position] += 1

    def give_free(self) -> None:
        """Give what nobody has; first the topics of which each reader gets most."""
        for topic_id in sorted(self._readers, key=self._order):
            free = [
                partition
                for partition in range(self._counts[topic_id])
                if (topic_id, partition) not in self._owned
            ]
            loads = [(self._loads[each], each) for each in self._readers[topic_id]]
            heapify(loads)
            for partition in free:
                load, position = heappop(loads)
                self._give(topic_id, partition, position)
                heappush(loads, (load + 1, position))

    def _order(self, topic_id: bytes) -> tuple[float, int, bytes]:
        readers = len(self._readers[topic_id])
        return -self._counts[topic_id] / readers, readers, topic_id

    def balance(self) -> bool:
        """Go over all topics once. Returns whether anything has moved."""
        moves = [
            self._balance_topic(topic_id)
            for topic_id in sorted(self._readers, key=self._order)
            if len(self._readers[topic_id]) > 1
        ]
        return any(moves)

    def _balance_topic(self, topic_id: bytes) -> bool:
        had, loads = self._had[topic_id], self._loads
        least = [(loads[each], each) for each in self._readers[topic_id]]
        most = [(-loads[each], -each) for each in self._readers[topic_id] if had[each]]
        heapify(least)
        heapify(most)
        has_moved = False
        while most:
            load, giver = -most[0][0], -most[0][1]
            if loads[giver] != load or not had[giver]:  # it has given since
                heappop(most)
                continue
            while loads[least[0][1]] != least[0][0]:
                heappop(least)
            low, taker = least[0]
            if load - low < 2:
                break
            had[taker].append(had[giver].pop())
            loads[giver] -= 1
            loads[taker] += 1
            heappush(most, (-loads[giver], -giver))
            heappush(least, (loads[giver], giver))
            heappush(least, (loads[taker], taker))
            heappush(most, (-loads[taker], -taker))
            has_moved = True
        return has_moved

    def result(self) -> dict[str, Partitions]:
        """What each member has at last."""
        places: list[list[tuple[bytes, int]]] = [[] for _ in self._members]
        for topic_id, had in self._had.items():
            for position, partitions in had.items():
                places[position] += [(topic_id, each) for each in partitions]
        return {
            each.member_id: by_topic(of)
            for each, of in zip(self._members, places, strict=True)
        }
