"""The topics in memory: by name and by id, and which names are free.

Invariant: this changes only when the catalogue has committed the same change.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.chosen_options import ChosenOptions
from odradek.protocol.errors import (
    InvalidPartitions,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directories import KnownPartition

from .topic import PartitionInfo, Topic
from .topic_names import collision_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .catalog.store import CatalogStore


class Deletion(NamedTuple):
    """A topic whose deletion is committed, and whose files are still to go."""

    topic_id: bytes
    name: str
    partition_count: int


class TopicIndex:
    """What topics there are. ``Topics`` adds the changes that can be made to them."""

    def __init__(self, store: CatalogStore) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._collisions: dict[str, str] = {}
        self._reserved_names: dict[str, int] = {}
        # How often topics were made, widened or deleted.
        self.index_version = 0
        self.deletions: dict[bytes, Deletion] = {}
        # Those whose directories could not be renamed, to be tried again.
        self.interrupted_deletions: set[bytes] = set()
        # Partitions whose files are not there, or cannot be read: nobody leads them.
        self.offline: set[TopicPartition] = set()
        # What has a directory and was of no topic at the start: no topic's records.
        self.strangers: set[TopicPartition] = set()
        # Copies of other clusters' topics, and their mirrors: see `mirrored_topics`.
        self.mirrored: dict[bytes, str] = {}
        self._load(store)

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Topic | None:
        """The topic of that name."""
        return self._by_name.get(name)

    def known(self, name: str) -> Topic:
        """The topic of that name.

        Raises:
            UnknownTopicOrPartition: there is none.
        """
        topic = self._by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
        return topic

    def by_id(self, topic_id: bytes) -> Topic | None:
        """The topic with that id."""
        return self._by_id.get(topic_id)

    def partition(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        """What is known of a partition; None when there is no such one."""
        topic = self._by_name.get(topic_partition.topic)
        if topic is None:
            return None
        number = topic_partition.partition
        return topic.partitions[number] if _has(topic, number) else None

    def known_partition(self, topic_partition: TopicPartition) -> KnownPartition | None:
        """What tells the directory of a partition from others of its name."""
        info = self.partition(topic_partition)
        if info is None:
            return None
        log_dir = None if info.log_dir is None else Path(info.log_dir)
        return KnownPartition(self._by_name[topic_partition.topic].topic_id, log_dir)

    def written_partitions(self) -> Iterator[TopicPartition]:
        """The partitions that hold acknowledged records."""
        for topic in self:
            for info in topic.partitions:
                if info.written:
                    yield TopicPartition(topic.name, info.partition)

    def is_reserved(self, name: str) -> bool:
        """Whether a deleted topic of that name still has its directories."""
        return name in self._reserved_names

    def check_new_name(self, name: str) -> None:
        """See that a topic of that name can be made now.

        Raises:
            TopicAlreadyExists: there is one, or one is just being deleted.
            InvalidTopic: an existing one has nearly the same name.
        """
        if name in self._by_name:
            raise TopicAlreadyExists(f"Topic '{name}' already exists.")
        if name in self._reserved_names:
            raise TopicAlreadyExists(f"Topic '{name}' is being deleted; try again.")
        other = self._collisions.get(collision_key(name))
        if other is not None:
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")

    def check_new_id(self, topic_id: bytes | None) -> None:
        """See that no topic has this id, nor one that is being deleted.

        Raises:
            TopicAlreadyExists: one has.
        """
        if topic_id in self._by_id or topic_id in self.deletions:
            raise TopicAlreadyExists(
                "A topic with this id exists, or is being deleted."
            )

    def check_not_mirrored(self, name: str) -> None:
        """See that clients may change the topic: it is no copy of another cluster's.

        Raises:
            PolicyViolation: it is one, of a mirror that follows it.
        """
        topic = self._by_name.get(name) if self.mirrored else None
        mirror = None if topic is None else self.mirrored.get(topic.topic_id)
        if mirror is not None:
            raise PolicyViolation(
                f"Topic '{name}' is a copy that the mirror {mirror} follows, and "
                "read-only until it is promoted (odradek mirror promote)."
            )

    def check_wider(self, name: str, count: int) -> None:
        """See that a topic can be given ``count`` partitions.

        Raises:
            UnknownTopicOrPartition: there is no such topic.
            InvalidPartitions: it has as many already, or more.
        """
        has = len(self.known(name).partitions)
        if count == has:
            raise InvalidPartitions(f"Topic already has {has} partition(s).")
        if count < has:
            raise InvalidPartitions(
                f"The topic {name} currently has {has} partition(s); {count} would "
                "not be an increase."
            )

    def release_name(self, deletion: Deletion) -> None:
        """Let the name be used again: the directories have another one now."""
        count = self._reserved_names.pop(deletion.name, 0) - 1
        if count > 0:
            self._reserved_names[deletion.name] = count

    def _load(self, store: CatalogStore) -> None:
        chosen: dict[bytes, dict[str, str]] = {}
        for topic_id, name, value in store.options():
            chosen.setdefault(topic_id, {})[name] = value
        for row in store.topics():
            if row.is_deleting:
                self.deletions[row.topic_id] = Deletion(*row[:3])
                continue
            epoch = row.leader_epoch
            partitions = [PartitionInfo(n, epoch) for n in range(row.partition_count)]
            options = ChosenOptions(chosen.get(row.topic_id))
            self._add(Topic(row.name, row.topic_id, partitions, options, epoch))
        for stored in store.partitions():
            topic = self._by_id.get(stored.topic_id)
            if topic is not None and _has(topic, stored.partition):
                topic.partitions[stored.partition] = PartitionInfo(*stored[1:])
        for deletion in self.deletions.values():
            if deletion.name not in self._by_name:
                self._reserve_name(deletion)

    def _add(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._collisions[collision_key(topic.name)] = topic.name

    def _remove(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        self._collisions.pop(collision_key(topic.name), None)
        if self.offline:
            self.offline = {each for each in self.offline if each.topic != topic.name}

    def _begin_deletion(self, topic: Topic) -> Deletion:
        self._remove(topic)
        deletion = Deletion(topic.topic_id, topic.name, len(topic.partitions))
        self.deletions[topic.topic_id] = deletion
        self._reserve_name(deletion)
        return deletion

    def _reserve_name(self, deletion: Deletion) -> None:
        self._reserved_names[deletion.name] = (
            self._reserved_names.get(deletion.name, 0) + 1
        )


def _has(topic: Topic, number: int) -> bool:
    return 0 <= number < len(topic.partitions)
