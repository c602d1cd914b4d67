"""The topics of the broker, in memory, as the catalogue has committed them.

Invariants: what is here is durable; a name that is being deleted is reserved until
its directories are renamed; every change goes through the catalogue's queue and is
decided there, on what everything before it has left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import (
    InvalidPartitions,
    InvalidTopic,
    KafkaError,
    TopicAlreadyExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from protocol.uuids import random_uuid

from .catalog import Catalog, Change
from .catalog_store import CatalogStore, PartitionRow
from .topic import NewTopic, PartitionInfo, Topic
from .topic_names import collision_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from protocol.topic_partition import TopicPartition

__all__ = ["Deletion", "NewTopic", "PartitionInfo", "Topic", "Topics"]


class Deletion(NamedTuple):
    """A topic whose deletion is committed, and whose files are still to go."""

    topic_id: bytes
    name: str
    partition_count: int


class Topics:
    """All topics by name and by id, and the changes that can be made to them."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._collisions: dict[str, str] = {}
        self._reserved: dict[str, int] = {}
        self._unmarked: dict[TopicPartition, str | None] = {}
        self._marking: asyncio.Future[None] | None = None
        self._watchers: list[Callable[[Topic], object]] = []
        self.deletions: dict[bytes, Deletion] = {}
        self._load(catalog.store)

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, 22 characters, kept for ever."""
        return self._catalog.cluster_id

    def get(self, name: str) -> Topic | None:
        """The topic of that name."""
        return self._by_name.get(name)

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

    def watch_options(self, watcher: Callable[[Topic], object]) -> None:
        """Call ``watcher`` with every topic whose options have changed."""
        self._watchers.append(watcher)

    def check_new_name(self, name: str) -> None:
        """See that a topic of that name can be made now.

        Raises:
            TopicAlreadyExists: there is one, or one is just being deleted.
            InvalidTopic: an existing one has nearly the same name.
        """
        if name in self._by_name:
            raise TopicAlreadyExists(f"Topic '{name}' already exists.")
        if name in self._reserved:
            raise TopicAlreadyExists(f"Topic '{name}' is being deleted; try again.")
        other = self._collisions.get(collision_key(name))
        if other is not None:
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")

    async def create_topic(
        self, name: str, partition_count: int, options: Mapping[str, str] | None = None
    ) -> Topic:
        """Make one topic; name, count and options are checked by the caller.

        Raises:
            TopicAlreadyExists, InvalidTopic: see ``check_new_name``.
            KafkaStorageError: the catalogue cannot be written.
        """
        (made,) = await self.create_topics(
            [NewTopic(name, partition_count, dict(options or {}))]
        )
        if isinstance(made, KafkaError):
            raise made
        return made

    async def create_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Make topics in one commit: each is made, or its place says why not."""

        def decide() -> Change:
            results = self._decide_creations(wanted)
            made = [result for result in results if isinstance(result, Topic)]
            rows = [
                (topic.topic_id, topic.name, len(topic.partitions), topic.options)
                for topic in made
            ]

            def apply(_: None) -> list[Topic | KafkaError]:
                for topic in made:
                    self._add(topic)
                return results

            if not made:
                return Change(apply)
            return Change(apply, lambda store: store.insert_topics(rows), True)

        results: list[Topic | KafkaError] = await self._catalog.change(decide)
        return results

    async def create_partitions(
        self, counts: Mapping[str, int]
    ) -> dict[str, KafkaError | None]:
        """Widen topics in one commit; a topic's value says why it was not."""

        def decide() -> Change:
            results = {name: self._why_not_widened(name, counts) for name in counts}
            widened = {
                name: counts[name] for name, error in results.items() if error is None
            }
            rows = {self._by_name[name].topic_id: n for name, n in widened.items()}

            def apply(_: None) -> dict[str, KafkaError | None]:
                for name, count in widened.items():
                    _widen(self._by_name[name], count)
                return results

            if not rows:
                return Change(apply)
            return Change(apply, lambda store: store.set_partition_counts(rows), True)

        results: dict[str, KafkaError | None] = await self._catalog.change(decide)
        return results

    async def alter_options(
        self, name: str, decide_options: Callable[[Mapping[str, str]], dict[str, str]]
    ) -> None:
        """Replace a topic's options by what ``decide_options`` makes of them.

        Raises:
            UnknownTopicOrPartition: there is no such topic.
            KafkaError: what ``decide_options`` raises; nothing has changed then.
        """

        def decide() -> Change:
            topic = self._known(name)
            options = decide_options(topic.options)

            def apply(_: None) -> None:
                topic.options = options
                for watcher in self._watchers:
                    watcher(topic)

            if options == topic.options:
                return Change(lambda _: None)
            rows = {topic.topic_id: options}
            return Change(apply, lambda store: store.replace_options(rows), True)

        await self._catalog.change(decide)

    async def begin_deletion(self, topic_id: bytes) -> Deletion:
        """Commit that a topic is being deleted; from then on nobody sees it.

        Its name stays reserved until ``release_name``, its row until
        ``finish_deletion``.

        Raises:
            UnknownTopicId: there is no such topic.
        """

        def decide() -> Change:
            topic = self._by_id.get(topic_id)
            if topic is None:
                raise UnknownTopicId
            deletion = Deletion(topic_id, topic.name, len(topic.partitions))

            def apply(_: None) -> Deletion:
                self._remove(topic)
                self._reserved[topic.name] = self._reserved.get(topic.name, 0) + 1
                self.deletions[topic_id] = deletion
                return deletion

            return Change(apply, lambda store: store.mark_deleting([topic_id]), True)

        deletion: Deletion = await self._catalog.change(decide)
        return deletion

    def release_name(self, deletion: Deletion) -> None:
        """Let the name be used again: the directories have another one now."""
        count = self._reserved.pop(deletion.name, 0) - 1
        if count > 0:
            self._reserved[deletion.name] = count

    async def finish_deletion(self, deletion: Deletion) -> None:
        """Forget a deleted topic: its files are gone."""

        def apply(_: None) -> None:
            self.deletions.pop(deletion.topic_id, None)

        ids = [deletion.topic_id]
        await self._catalog.change(
            lambda: Change(apply, lambda store: store.remove_topics(ids), True)
        )

    async def mark_written(
        self, topic_partitions: Iterable[TopicPartition], log_dir: str | None = None
    ) -> None:
        """Commit that partitions have acknowledged records, and where they live.

        Calls that come while a commit is under way share the next one.
        """
        for topic_partition in topic_partitions:
            info = self.partition(topic_partition)
            if info is not None and not info.written:
                self._unmarked[topic_partition] = log_dir
        if not self._unmarked:
            return
        if self._marking is None:
            self._marking = self._catalog.change(self._decide_written)
        # Shielded: others wait for the same commit.
        await asyncio.shield(self._marking)

    async def set_leader_epochs(self, epochs: Mapping[TopicPartition, int]) -> None:
        """Commit the leader epochs of partitions; an epoch never falls."""

        def decide() -> Change:
            changed = {
                topic_partition: info._replace(leader_epoch=epoch)
                for topic_partition, epoch in epochs.items()
                if (info := self.partition(topic_partition)) is not None
                and info.leader_epoch < epoch
            }
            return self._put(changed)

        await self._catalog.change(decide)

    async def bump_leader_epochs(self) -> None:
        """Commit leader epochs that are higher by one, after an unclean stop."""

        def apply(_: None) -> None:
            for topic in self:
                topic.new_leader_epoch += 1
                topic.partitions = [
                    info._replace(leader_epoch=info.leader_epoch + 1)
                    for info in topic.partitions
                ]

        await self._catalog.change(
            lambda: Change(apply, CatalogStore.bump_leader_epochs)
        )

    async def allocate_producer_id_block(self) -> range:
        """Producer ids that nobody got before and nobody will get again."""
        return await self._catalog.allocate_producer_id_block()

    def _load(self, store: CatalogStore) -> None:
        for row in store.topics():
            if row.is_deleting:
                self.deletions[row.topic_id] = Deletion(*row[:3])
                continue
            epoch = row.leader_epoch
            partitions = [PartitionInfo(n, epoch) for n in range(row.partition_count)]
            self._add(Topic(row.name, row.topic_id, partitions, {}, epoch))
        for topic_id, name, value in store.options():
            if topic_id in self._by_id:
                self._by_id[topic_id].options[name] = value
        for stored in store.partitions():
            topic = self._by_id.get(stored.topic_id)
            if topic is not None and _has(topic, stored.partition):
                topic.partitions[stored.partition] = PartitionInfo(*stored[1:])
        for deletion in self.deletions.values():
            if deletion.name not in self._by_name:
                self._reserved[deletion.name] = self._reserved.get(deletion.name, 0) + 1

    def _add(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._collisions[collision_key(topic.name)] = topic.name

    def _remove(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        self._collisions.pop(collision_key(topic.name), None)

    def _known(self, name: str) -> Topic:
        topic = self._by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
        return topic

    def _decide_creations(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        results: list[Topic | KafkaError] = []
        new: dict[str, str] = {}
        for name, count, options in wanted:
            key = collision_key(name)
            try:
                self.check_new_name(name)
                if key in new:
                    raise InvalidTopic(f"Topic '{name}' collides with {new[key]}")
            except KafkaError as error:
                results.append(error)
                continue
            new[key] = name
            partitions = [PartitionInfo(number, 0) for number in range(count)]
            results.append(Topic(name, random_uuid(), partitions, dict(options)))
        return results

    def _why_not_widened(
        self, name: str, counts: Mapping[str, int]
    ) -> KafkaError | None:
        """Why a topic cannot have that many partitions (decided at its turn)."""
        try:
            has = len(self._known(name).partitions)
        except UnknownTopicOrPartition as error:
            return error
        if counts[name] == has:
            return InvalidPartitions(f"Topic already has {has} partition(s).")
        if counts[name] < has:
            return InvalidPartitions(
                f"The topic {name} currently has {has} partition(s); {counts[name]} "
                "would not be an increase."
            )
        return None

    def _decide_written(self) -> Change:
        unmarked, self._unmarked = self._unmarked, {}
        # From now on a call needs the next commit: this one is already decided.
        self._marking = None
        changed = {}
        for topic_partition, log_dir in unmarked.items():
            info = self.partition(topic_partition)
            if info is not None:
                place = log_dir if log_dir is not None else info.log_dir
                changed[topic_partition] = info._replace(written=True, log_dir=place)
        return self._put(changed)

    def _put(self, changed: Mapping[TopicPartition, PartitionInfo]) -> Change:
        """The change that stores what is known of partitions."""
        rows = [
            PartitionRow(self._by_name[topic].topic_id, *info)
            for (topic, _), info in changed.items()
        ]

        def apply(_: None) -> None:
            for (name, number), info in changed.items():
                self._by_name[name].partitions[number] = info

        if not rows:
            return Change(apply)
        return Change(apply, lambda store: store.put_partitions(rows))


def _has(topic: Topic, number: int) -> bool:
    return 0 <= number < len(topic.partitions)


def _widen(topic: Topic, count: int) -> None:
    begin = len(topic.partitions)
    topic.partitions += [
        PartitionInfo(number, topic.new_leader_epoch) for number in range(begin, count)
    ]
