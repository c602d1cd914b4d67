"""Which partitions of a share group have a state: a place that the group goes on from.

A state is begun before any member is assigned the partition: the share coordinator
keeps it. This is what the group remembers of that, in one record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

V = TypeVar("V")


class TopicStates(NamedTuple):
    """Partitions of one topic."""

    name: str
    partitions: frozenset[int]


Topics = Mapping[bytes, TopicStates]
_NO_TOPICS: Topics = {}
_NO_NAMES: Mapping[bytes, str] = {}


class States(NamedTuple):
    """By the ids of topics. Where a state is being deleted there is none any more."""

    initializing: Topics = _NO_TOPICS
    initialized: Topics = _NO_TOPICS
    deleting: Mapping[bytes, str] = _NO_NAMES

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not (self.initializing or self.initialized or self.deleting)

    def missing(self, topic_id: bytes, count: int) -> frozenset[int]:
        """Those of a topic's partitions that have no state."""
        topic = self.initialized.get(topic_id)
        wanted = frozenset(range(count))
        return wanted if topic is None else wanted - topic.partitions

    def places(self) -> Iterator[tuple[bytes, int]]:
        """Every partition that has a state, or may have one."""
        found = _joined(self.initialized, self.initializing)
        for topic_id, topic in found.items():
            for partition in sorted(topic.partitions):
                yield topic_id, partition

    # What they become

    def beginning(self, topics: Topics) -> States:
        """States of these are being begun."""
        deleting = _without(self.deleting, topics)
        return self._replace(
            initializing=_joined(self.initializing, topics), deleting=deleting
        )

    def begun(self, topics: Topics) -> States:
        """These have one."""
        return self._replace(
            initializing=_less(self.initializing, topics),
            initialized=_joined(self.initialized, topics),
            deleting=_without(self.deleting, topics),
        )

    def ending(self, topic_ids: Iterable[bytes]) -> States:
        """Those of these topics are being deleted."""
        gone = set(topic_ids)
        known = _joined(self.initialized, self.initializing)
        ending = {key: each.name for key, each in known.items() if key in gone}
        return States(
            _without(self.initializing, gone),
            _without(self.initialized, gone),
            {**self.deleting, **ending},
        )

    def without(self, topic_ids: Iterable[bytes]) -> States:
        """Nothing is left of these topics."""
        gone = set(topic_ids)
        return States(
            _without(self.initializing, gone),
            _without(self.initialized, gone),
            _without(self.deleting, gone),
        )


NO_STATES = States()


def _joined(some: Topics, others: Topics) -> dict[bytes, TopicStates]:
    joined = dict(some)
    for topic_id, topic in others.items():
        known = joined.get(topic_id)
        if known is not None:
            topic = topic._replace(partitions=topic.partitions | known.partitions)
        joined[topic_id] = topic
    return joined


def _less(some: Topics, others: Topics) -> dict[bytes, TopicStates]:
    left = {}
    for topic_id, topic in some.items():
        other = others.get(topic_id)
        if other is not None:
            topic = topic._replace(partitions=topic.partitions - other.partitions)
        if topic.partitions:
            left[topic_id] = topic
    return left


def _without(some: Mapping[bytes, V], gone: Iterable[bytes]) -> dict[bytes, V]:
    out = set(gone)
    return {key: value for key, value in some.items() if key not in out}
