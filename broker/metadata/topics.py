"""The topics of the broker, in memory, as the catalogue has committed them.

Invariants: what is here is durable; a name that is being deleted is reserved until
its directories are renamed; every change goes through the catalogue's queue and is
decided there, on what everything before it has left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from odradek.broker.config.chosen_options import ChosenOptions
from odradek.broker.config.watchers import tell_all
from odradek.protocol.errors import InvalidTopic, KafkaError
from odradek.protocol.uuids import random_uuid

from .catalog.catalog import Catalog, Change
from .catalog.store import CatalogStore, PartitionRow
from .topic import NewTopic, PartitionInfo, Topic
from .topic_index import Deletion, TopicIndex
from .topic_names import collision_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from odradek.protocol.topic_partition import TopicPartition

__all__ = ["Deletion", "NewTopic", "PartitionInfo", "Topic", "Topics"]

_T = TypeVar("_T")


class Topics(TopicIndex):
    """All topics, and the changes that can be made to them."""

    # Whether epochs of leaders begin here; in a cluster its controllers give them.
    gives_leader_epochs = True

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog.store)
        self._catalog = catalog
        self._unmarked: dict[TopicPartition, str | None] = {}
        self._marking: asyncio.Future[None] | None = None
        self._watchers: list[Callable[[Topic], object]] = []
        self._index_watchers: list[Callable[[], object]] = []
        # Set when there is a topic, or one is being made.
        self.begun = asyncio.Event()
        if len(self):
            self.begun.set()

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, 22 characters, kept for ever."""
        return self._catalog.cluster_id

    @property
    def catalog_failure(self) -> str | None:
        """Why no topic can be changed any more; None while all is well."""
        return self._catalog.failure

    @property
    def catalog_no_room_count(self) -> int:
        """How many changes of the catalogue were refused for want of room."""
        return self._catalog.no_room_count

    @property
    def is_restored(self) -> bool:
        """Whether the start took the catalogue's copy: which is of the last change of a
        topic, and may not know of partitions that were written since.
        """
        return self._catalog.store.is_restored

    @property
    def change_count(self) -> int:
        """How many changes the catalogue has seen."""
        return self._catalog.change_count

    def watch_options(self, watcher: Callable[[Topic], object]) -> None:
        """Call ``watcher`` with every topic whose options have changed."""
        self._watchers.append(watcher)

    def watch_index(self, watcher: Callable[[], object]) -> None:
        """Call ``watcher`` when topics were made, widened or deleted."""
        self._index_watchers.append(watcher)

    def _tell_index(self, changed: Collection[object]) -> None:
        self.index_version += bool(changed)
        for watcher in self._index_watchers if changed else ():
            watcher()

    async def create_topic(
        self, name: str, partition_count: int, options: Mapping[str, str] | None = None
    ) -> Topic:
        """Make one topic; name, count and options are checked by the caller.

        Raises:
            TopicAlreadyExists, InvalidTopic: see ``check_new_name``.
            KafkaStorageError: the catalogue cannot be written.
        """
        (made,) = await self.create_topics(
            [NewTopic(name, partition_count, options or {})]
        )
        if isinstance(made, KafkaError):
            raise made
        return made

    async def create_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Make topics in one commit: each is made, or its place says why not."""
        self.begun.set()

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
                self._tell_index(made)
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
            results = {
                name: self._why_not_widened(name, count)
                for name, count in counts.items()
            }
            widened = {
                name: counts[name] for name, error in results.items() if error is None
            }
            rows = {self._by_name[name].topic_id: n for name, n in widened.items()}

            def apply(_: None) -> dict[str, KafkaError | None]:
                for name, count in widened.items():
                    _widen(self._by_name[name], count)
                self._tell_index(widened)
                return results

            if not rows:
                return Change(apply)
            return Change(apply, lambda store: store.set_partition_counts(rows), True)

        results: dict[str, KafkaError | None] = await self._catalog.change(decide)
        return results

    async def alter_options(
        self, name: str, decide_options: Callable[[ChosenOptions], Mapping[str, str]]
    ) -> None:
        """Replace a topic's options by what ``decide_options`` makes of them.

        Raises:
            UnknownTopicOrPartition: there is no such topic.
            KafkaError: what ``decide_options`` raises; nothing has changed then.
        """

        def decide() -> Change:
            topic = self.known(name)
            options = ChosenOptions.of(decide_options(topic.options))

            def apply(_: None) -> None:
                topic.options = options
                tell_all(self._watchers, topic)

            if options == topic.options:
                return Change(lambda _: None)
            rows = {topic.topic_id: options}
            return Change(apply, lambda store: store.replace_options(rows), True)

        await self._catalog.change(decide)

    async def begin_deletions(self, topic_ids: Iterable[bytes]) -> list[Deletion]:
        """Commit that topics are being deleted; from then on nobody sees them.

        A name stays reserved until ``release_name``, a row until
        ``finish_deletions``. An id that nobody has is passed over.
        """

        def decide() -> Change:
            known = [self._by_id[each] for each in topic_ids if each in self._by_id]
            ids = [topic.topic_id for topic in known]

            def apply(_: None) -> list[Deletion]:
                begun = [self._begin_deletion(topic) for topic in known]
                self._tell_index(begun)
                return begun

            if not known:
                return Change(apply)
            return Change(apply, lambda store: store.mark_deleting(ids), True)

        deletions: list[Deletion] = await self._catalog.change(decide)
        return deletions

    async def finish_deletions(self, deletions: Iterable[Deletion]) -> None:
        """Forget deleted topics: their files are gone."""
        ids = [deletion.topic_id for deletion in deletions]

        def apply(_: None) -> None:
            for topic_id in ids:
                self.deletions.pop(topic_id, None)

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
        marking = self._marking
        if marking is None:
            marking = self._catalog.change(self._decide_written)
            if self._unmarked:  # not decided yet: others may join it
                self._marking = marking
        # Shielded: others wait for the same commit.
        await asyncio.shield(marking)

    async def note_given_away(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Commit that nothing of these is here: other brokers have them."""
        places = list(topic_partitions)

        def decide() -> Change:
            return self._put(
                {
                    place: info._replace(log_dir=None, written=False)
                    for place in places
                    if (info := self.partition(place)) is not None and info.written
                }
            )

        await self._catalog.change(decide)
        self.offline.difference_update(places)

    async def move(self, topic_partition: TopicPartition, log_dir: str) -> None:
        """Commit in which log directory a partition lives, or is to be made."""

        def decide() -> Change:
            info = self.partition(topic_partition)
            if info is None or info.log_dir == log_dir:
                return self._put({})
            return self._put({topic_partition: info._replace(log_dir=log_dir)})

        await self._catalog.change(decide)

    async def set_leader_epochs(self, epochs: Mapping[TopicPartition, int]) -> None:
        """Commit the leader epochs of partitions; an epoch never falls."""
        await self._catalog.change(lambda: self._put(self._raised(epochs)))

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

    async def begin_producer_ids(self, first: int) -> tuple[int, int]:
        """Commit that producer ids are given from ``first`` on, unless that was said
        before. Returns how many were given below, and where they began then.
        """
        found: tuple[int, int] = await self._catalog.change(
            lambda: Change(
                lambda found: found, lambda store: store.begin_producer_ids(first), True
            )
        )
        return found

    async def copy_to(self, path: Path, and_then: Callable[[], _T]) -> _T:
        """Copy the catalogue to ``path``, and return what ``and_then`` returns.

        That is called on the loop while the catalogue is what the copy says.

        Raises:
            KafkaStorageError: it could not be copied.
        """
        copied: _T = await self._catalog.change(
            lambda: Change(lambda _: and_then(), lambda store: store.copy_to(path))
        )
        return copied

    def _decide_creations(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        results: list[Topic | KafkaError] = []
        new: dict[str, str] = {}
        for name, count, options, topic_id in wanted:
            key = collision_key(name)
            try:
                self.check_new_name(name)
                self.check_new_id(topic_id)
                if key in new:
                    raise InvalidTopic(f"Topic '{name}' collides with {new[key]}")
            except KafkaError as error:
                results.append(error)
                continue
            new[key] = name
            partitions = [PartitionInfo(number, 0) for number in range(count)]
            chosen = ChosenOptions.of(options)
            results.append(Topic(name, topic_id or random_uuid(), partitions, chosen))
        return results

    def _why_not_widened(self, name: str, count: int) -> KafkaError | None:
        try:
            self.check_wider(name, count)
        except KafkaError as error:
            return error
        return None

    def _raised(
        self, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, PartitionInfo]:
        """Those whose epoch is higher than it was."""
        return {
            topic_partition: info._replace(leader_epoch=epoch)
            for topic_partition, epoch in epochs.items()
            if (info := self.partition(topic_partition)) is not None
            and info.leader_epoch < epoch
        }

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


def _widen(topic: Topic, count: int) -> None:
    begin = len(topic.partitions)
    topic.partitions += [
        PartitionInfo(number, topic.new_leader_epoch) for number in range(begin, count)
    ]
