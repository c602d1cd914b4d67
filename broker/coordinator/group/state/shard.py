"""The groups and offsets of one partition of ``__consumer_offsets``.

Invariant: an id is that of one group, of one type.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from odradek.broker.coordinator.decision import Decision, TakenBatches
from odradek.protocol.errors import CoordinatorNotAvailable, KafkaError

from . import records
from .classic_group import ClassicGroup
from .classic_states import ClassicEvent
from .loading import OffsetLoader
from .offsets import GroupOffsets
from .records import GroupRecord, OffsetRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Place
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.coordinator.share.anywhere import ShareStates
    from odradek.broker.coordinator.timers import Timers
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topic_index import TopicIndex
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.parked import Parked, T
    from odradek.storage.files.files import Buffer

    from .consumer.group import ConsumerGroup
    from .consumer.records import ConsumerRecord
    from .loading import Stretch
    from .share.beginning import Beginning
    from .share.group import ShareGroup
    from .share.records import ShareRecord
    from .streams.group import StreamsGroup
    from .streams.records import StreamsRecord

    Group = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup


class GroupShard:
    """What the records of one partition add up to; see `ShardState`.

    The decisions about it are functions of their own modules (`classic.join`,
    `offsets.commit` ...), which are given the shard.
    """

    def __init__(
        self,
        shard: Shard[GroupShard],
        config: BrokerConfig,
        clock: Clock,
        topics: TopicIndex,
        options_of: Callable[[str], Mapping[str, str]],
    ) -> None:
        """``options_of`` is asked for the options that a group has of its own."""
        self.config = config
        self.clock = clock
        self.topics = topics
        self.options_of = options_of
        self.groups: dict[str, ClassicGroup] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.share_groups: dict[str, ShareGroup] = {}
        self.streams_groups: dict[str, StreamsGroup] = {}
        # Who keeps where share groups are; and what it was asked to begin.
        self.share_states: Callable[[], ShareStates] = _nobody
        self.beginnings: dict[str, Beginning] = {}
        self.offsets = GroupOffsets()
        self._offset_loader = OffsetLoader(self.offsets)
        self.timers: Timers = shard.timers
        self._shard = shard
        self.when_loaded: list[Callable[[GroupShard], object]] = []
        self.when_unloaded: list[Callable[[GroupShard, KafkaError], object]] = []
        # Told of each group that has entered another state; mostly nobody.
        self.watchers: list[Callable[[Group], object]] = []

    def group(self, group_id: str) -> ClassicGroup | None:
        """The classic group, if there is one."""
        return self.groups.get(group_id)

    def group_of_any_type(self, group_id: str) -> Group | None:
        """The group, if there is one."""
        return (
            self.groups.get(group_id)
            or self.consumer_groups.get(group_id)
            or self.share_groups.get(group_id)
            or self.streams_groups.get(group_id)
        )

    def all_groups(self) -> list[Group]:
        """The groups of all types."""
        return [
            *self.groups.values(),
            *self.consumer_groups.values(),
            *self.share_groups.values(),
            *self.streams_groups.values(),
        ]

    def known_topics(self, names: Iterable[str]) -> list[Topic]:
        """Those of the topics that are there."""
        return [topic for name in names if (topic := self.topics.get(name))]

    def get_or_create(self, group_id: str) -> ClassicGroup:
        """The group, made if need be: empty, and nowhere written."""
        group = self.groups.get(group_id)
        if group is None:
            group = ClassicGroup(group_id, self.clock.now_ms())
            self.groups[group_id] = group
        return group

    def announce(self, group: Group) -> None:
        """A group has entered another state."""
        for watcher in self.watchers:
            watcher(group)

    def write(
        self,
        record: GroupRecord,
        then: Callable[[], object] | None = None,
        undo: Callable[[KafkaError], object] | None = None,
        may_be_lost: bool = False,
    ) -> None:
        """Write what a classic group has become; it is so already.

        One of the two is called: ``then`` when it is durable, or written if it may be
        lost; ``undo`` when it is not, and will not be.
        """
        decision = Decision(
            records=[record],
            then=then,
            undo=undo,
            is_replayed=False,
            may_be_lost=may_be_lost,
        )
        # What is refused at once has called ``undo``.
        with suppress(KafkaError):
            self._shard.apply(decision, _ignore)

    def carry_out(self, decision: Decision) -> None:
        """Write and replay what somebody has decided before he goes on.

        Raises:
            KafkaError: it was not written, and nothing has changed.
        """
        self._shard.apply(decision, _ignore)

    def ask(
        self,
        decide: Callable[[GroupShard], Decision],
        refuse: Callable[[KafkaError], T],
    ) -> T | Parked[T]:
        """The answer to what is decided now; see `Shard.act`."""
        return self._shard.act(decide, refuse)

    def run_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` in a later turn of the loop."""
        self._shard.run_soon(action)

    # ShardState

    def decode(self, key: Buffer, value: Buffer | None) -> Any:
        """The record; None for one of a kind that is not kept here."""
        return records.decode(key, value)

    def replay(self, record: Any, place: Place) -> None:
        """Apply one record."""
        if isinstance(record, OffsetRecord):
            self.offsets.replay(record, place)
            # Who commits without ever joining has a group all the same.
            if record.committed is not None and record.group_id not in self.groups:
                self._begin_simple_groups((record.group_id,), place.timestamp)
            return
        if not isinstance(record, GroupRecord):
            self._replay_modern(record)
            return
        if record.value is None:
            gone = self.groups.pop(record.group_id, None)
            if gone is not None:
                gone.note(ClassicEvent.DELETED, place.timestamp)
                self.announce(gone)
        else:
            loaded = ClassicGroup.loaded(record.group_id, record.value)
            self.groups[record.group_id] = loaded

    def replay_usual(
        self, records: Sequence[OffsetRecord], now_ms: int, base_offset: int
    ) -> None:
        """`replay` of what one group commits, outside of any transaction."""
        group_id = records[0][0]
        self.offsets.put_all(group_id, records, base_offset)
        if group_id not in self.groups:
            self._begin_simple_groups((group_id,), now_ms)

    def take_batches(self, data: bytes, position: int) -> TakenBatches | None:
        """Apply batches of nothing but offsets; see `BatchTaker`."""
        stretch = self._offset_loader.find(data, position)
        if stretch.position == position:
            return None
        return TakenBatches(
            stretch.position,
            stretch.next_offset,
            stretch.record_count,
            self._take_in_steps(data, stretch),
        )

    def _take_in_steps(self, data: bytes, stretch: Stretch) -> Iterator[None]:
        for groups in self._offset_loader.take(data, stretch):
            for group_id, begun_ms in groups.items():
                if group_id not in self.groups:
                    self._begin_simple_groups((group_id,), begun_ms)
            yield

    def _begin_simple_groups(self, group_ids: Iterable[str], now_ms: int) -> None:
        """Groups of which nothing is known but their offsets."""
        for group_id in group_ids:
            if self.group_of_any_type(group_id) is None:
                self.groups[group_id] = ClassicGroup(group_id, now_ms)

    def _replay_modern(
        self, record: ConsumerRecord | ShareRecord | StreamsRecord
    ) -> None:
        group: ConsumerGroup | ShareGroup | StreamsGroup | None
        if record.key in records.SHARE_KEYS:
            from .share.replay import replay_share

            group = replay_share(self.share_groups, cast("ShareRecord", record))
        elif record.key in records.STREAMS_KEYS:
            from .streams.replay import replay_streams

            group = replay_streams(self.streams_groups, cast("StreamsRecord", record))
        else:
            from .consumer.replay import replay_consumer

            group = replay_consumer(
                self.consumer_groups, cast("ConsumerRecord", record)
            )
        if group is None:
            return
        if group.is_gone:
            if self.offsets.of_group(group.group_id):  # they go on without it
                self._begin_simple_groups((group.group_id,), self.clock.now_ms())
        else:
            # Its offsets may have been there first: compaction keeps the last record.
            self.groups.pop(group.group_id, None)
        self.announce(group)

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        """Commit or drop the pending offsets of a producer."""
        self.offsets.end_transaction(place.producer_id, is_commit)

    def summary(self) -> dict[str, int]:
        """Its groups, their members and committed offsets."""
        groups = self.all_groups()
        members = sum(len(group.members) for group in groups)
        return {
            "group": len(groups),
            "member": members,
            "committed offset": len(self.offsets),
        }

    def on_loaded(self) -> None:
        """Begin the sessions of all members anew."""
        self._offset_loader.forget()
        for action in self.when_loaded:
            action(self)

    def on_unloaded(self, error: KafkaError) -> None:
        """Answer the members that wait."""
        for action in self.when_unloaded:
            action(self, error)


def _nobody() -> ShareStates:
    raise CoordinatorNotAvailable


def _ignore(error: KafkaError) -> None:
    """The record's own callbacks are told."""
