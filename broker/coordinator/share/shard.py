"""The share partitions of one partition of ``__share_group_state``.

Invariants: a share partition is what its last snapshot and the updates behind that add
up to; what lies before the first of these snapshots in the log is needed no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import records
from .merge import merge
from .state import FIRST_EPOCH, NO_EPOCH, NO_START, ShareKey, ShareState

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Place
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.errors import KafkaError
    from odradek.storage.files.files import Buffer


class ShareStateShard:
    """What the records of one partition add up to; see `ShardState`.

    The decisions about it are functions of their own modules, which are given it.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        watchers: list[Callable[[ShareKey], object]],
    ) -> None:
        """``watchers`` are told of share partitions that begin anew, or are gone."""
        self.config = config
        self.clock = clock
        self.topics = topics
        self.states: dict[ShareKey, ShareState] = {}
        self.next_offset = 0
        self._watchers = watchers

    @property
    def first_needed_offset(self) -> int:
        """The records below are needed no more."""
        return min(
            (state.snapshot_offset for state in self.states.values()),
            default=self.next_offset,
        )

    # ShardState

    def decode(self, key: Buffer, value: Buffer | None) -> Any:
        """The record; None for one of a kind that is not kept here."""
        return records.decode(key, value)

    def replay(self, record: Any, place: Place) -> None:
        """Apply one record."""
        self.next_offset = place.offset + 1
        if isinstance(record, records.UpdateRecord):
            self._update(record, place)
            return
        assert isinstance(record, records.SnapshotRecord)
        if record.snapshot is None:
            self.states.pop(record.key, None)
        else:
            self._put(record.key, record.snapshot, place)
        if record.begins_anew or record.snapshot is None:
            for watcher in self._watchers:
                watcher(record.key)

    def _put(self, key: ShareKey, snapshot: records.Snapshot, place: Place) -> None:
        self.states[key] = ShareState(
            snapshot.snapshot_epoch,
            snapshot.state_epoch,
            snapshot.leader_epoch,
            snapshot.start,
            snapshot.complete_count,
            snapshot.created_ms,
            snapshot.written_ms,
            place.offset,
            merge((), snapshot.batches, snapshot.start),
        )

    def _update(self, record: records.UpdateRecord, place: Place) -> None:
        state = self.states.get(record.key)
        if state is None:
            # The log begins behind its snapshot, and the next one comes later; or it
            # is damaged: then this is better than nothing.
            state = self.states[record.key] = ShareState(
                record.snapshot_epoch,
                FIRST_EPOCH,
                record.leader_epoch,
                record.start,
                record.complete_count,
                place.timestamp,
                place.timestamp,
                place.offset,
            )
        if record.leader_epoch != NO_EPOCH:
            state.leader_epoch = record.leader_epoch
        if record.start != NO_START:
            state.start = record.start
        state.complete_count = record.complete_count
        state.batches = merge(state.batches, record.batches, state.start)
        state.update_count += 1

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        """Nothing: this log has no transactions of its own."""

    def summary(self) -> dict[str, int]:
        """Its share partitions."""
        return {"share partition": len(self.states)}

    def on_loaded(self) -> None:
        """Nothing: what is due is done from time to time."""

    def on_unloaded(self, error: KafkaError) -> None:
        """Nothing: nobody waits with it."""
