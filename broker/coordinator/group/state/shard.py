"""The groups and offsets of one partition of ``__consumer_offsets``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import KafkaError

from . import records
from .classic_group import ClassicGroup
from .classic_states import ClassicEvent
from .loading import OffsetLoader
from .offsets import GroupOffsets
from .records import GroupRecord, OffsetRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Place
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.coordinator.timers import Timers
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.record_batch import BatchHeader
    from odradek.storage.files.files import Buffer


class GroupShard:
    """What the records of one partition add up to; see `ShardState`.

    The decisions about it are functions of their own modules (`classic.join`,
    `offsets.commit` ...), which are given the shard.
    """

    def __init__(
        self, shard: Shard[GroupShard], config: BrokerConfig, clock: Clock
    ) -> None:
        self.config = config
        self.clock = clock
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = GroupOffsets()
        self._offset_loader = OffsetLoader(self.offsets)
        self.timers: Timers = shard.timers
        self._shard = shard
        self.when_loaded: list[Callable[[GroupShard], object]] = []
        self.when_unloaded: list[Callable[[GroupShard, KafkaError], object]] = []
        # Told of each group that has entered another state; mostly nobody.
        self.watchers: list[Callable[[ClassicGroup], object]] = []

    def group(self, group_id: str) -> ClassicGroup | None:
        """The group, if there is one."""
        return self.groups.get(group_id)

    def get_or_create(self, group_id: str) -> ClassicGroup:
        """The group, made if need be: empty, and nowhere written."""
        group = self.groups.get(group_id)
        if group is None:
            group = ClassicGroup(group_id, self.clock.now_ms())
            self.groups[group_id] = group
        return group

    def announce(self, group: ClassicGroup) -> None:
        """A group has entered another state."""
        for watcher in self.watchers:
            watcher(group)

    def write(
        self,
        record: GroupRecord,
        then: Callable[[], object] | None = None,
        undo: Callable[[KafkaError], object] | None = None,
    ) -> None:
        """Write what a classic group has become; it is so already.

        One of the two is called: ``then`` when it is durable, ``undo`` when it is
        not, and will not be, written.
        """
        decision = Decision(records=[record], then=then, undo=undo, is_replayed=False)
        # What is refused at once has called ``undo``.
        with suppress(KafkaError):
            self._shard.apply(decision, _ignore)

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
                group = ClassicGroup(record.group_id, place.timestamp)
                self.groups[record.group_id] = group
            return
        assert isinstance(record, GroupRecord)
        if record.value is None:
            gone = self.groups.pop(record.group_id, None)
            if gone is not None:
                gone.note(ClassicEvent.DELETED, place.timestamp)
                self.announce(gone)
        else:
            loaded = ClassicGroup.loaded(record.group_id, record.value)
            self.groups[record.group_id] = loaded

    def replay_batch(
        self, header: BatchHeader, data: bytes, rows: Iterable[tuple[int, ...]]
    ) -> bool:
        """Apply a batch of nothing but offsets; see `BatchReplayer`."""
        groups = self._offset_loader.take(data, rows, header.base_offset)
        if groups is None:
            return False
        for group_id in groups.difference(self.groups):
            self.groups[group_id] = ClassicGroup(group_id, header.max_timestamp)
        return True

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        """Commit or drop the pending offsets of a producer."""
        self.offsets.end_transaction(place.producer_id, is_commit)

    def summary(self) -> dict[str, int]:
        """Its groups, their members and committed offsets."""
        members = sum(len(group.members) for group in self.groups.values())
        return {
            "group": len(self.groups),
            "member": members,
            "committed offset": len(self.offsets),
        }

    def on_loaded(self) -> None:
        """Begin the sessions of all members anew."""
        for action in self.when_loaded:
            action(self)

    def on_unloaded(self, error: KafkaError) -> None:
        """Answer the members that wait."""
        for action in self.when_unloaded:
            action(self, error)


def _ignore(error: KafkaError) -> None:
    """The record's own callbacks are told."""
