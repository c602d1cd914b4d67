"""What is decided about share partitions: begun, written, read, forgotten.

Each of several share partitions has an answer of its own: None, or the error that it
alone is refused with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import (
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)

from .merge import finished_count, is_ordered, merge
from .records import BATCHES_MAX, Snapshot, SnapshotRecord, UpdateRecord
from .state import (
    FIRST_EPOCH,
    NO_COUNT,
    NO_EPOCH,
    NO_START,
    WRITTEN_STATES,
    ShareKey,
    ShareState,
    StateBatch,
    StateSummary,
    StateUpdate,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.metadata.topics import Topics

    from .shard import ShareStateShard

    Results = dict[ShareKey, KafkaError | None]


# Begin


def decide_initialise(
    shard: ShareStateShard, starts: Mapping[ShareKey, int], state_epoch: int
) -> Decision:
    """Let share partitions begin anew; what was known of them counts no more."""
    results: Results = {}
    records = []
    for key, start in starts.items():
        try:
            records.append(_beginning(shard, key, start, state_epoch))
            results[key] = None
        except KafkaError as error:
            results[key] = error.as_value()
    return Decision(response=results, records=records)


def _beginning(
    shard: ShareStateShard, key: ShareKey, start: int, state_epoch: int
) -> SnapshotRecord:
    state = shard.states.get(key)
    if state is not None:
        _check_epoch(state.state_epoch, state_epoch, FencedStateEpoch)
    check_partition(shard.topics, key)
    now_ms = shard.clock.now_ms()
    snapshot = Snapshot(
        snapshot_epoch=0 if state is None else state.snapshot_epoch + 1,
        state_epoch=state_epoch,
        leader_epoch=FIRST_EPOCH,
        start=start,
        complete_count=NO_COUNT if start == NO_START else 0,
        created_ms=now_ms,
        written_ms=now_ms,
    )
    return SnapshotRecord(key, snapshot, begins_anew=True)


# Write


def decide_write(
    shard: ShareStateShard, key: ShareKey, update: StateUpdate
) -> Decision:
    """Keep what has changed; its answer is None.

    Raises:
        InvalidRequest: there is no state of it, or the batches are none.
        FencedLeaderEpoch, FencedStateEpoch: it was written by somebody newer.
        UnknownTopicOrPartition: there is no such partition any more.
    """
    _check_batches(update.batches)
    state = _found(shard, key, update.leader_epoch)
    _check_epoch(state.state_epoch, update.state_epoch, FencedStateEpoch)
    check_partition(shard.topics, key)
    return Decision(records=_written(shard, key, update, state.leader_epoch))


def _written(
    shard: ShareStateShard, key: ShareKey, update: StateUpdate, leader_epoch: int
) -> Sequence[CoordinatorRecord]:
    """The update, or after many of them the next snapshot, if it is not too large."""
    state = shard.states[key]
    start = state.start if update.start == NO_START else update.start
    merged: list[StateBatch] | None = None
    count = update.complete_count
    updates_max = shard.config.share_coordinator_snapshot_update_records_per_snapshot
    wants_snapshot = state.update_count >= updates_max
    if count is None or wants_snapshot:
        merged = merge(state.batches, update.batches, start)
        count = finished_count(merged) if count is None else count
    if merged is not None and wants_snapshot and len(merged) <= BATCHES_MAX:
        now_ms = shard.clock.now_ms()
        snapshot = Snapshot(
            state.snapshot_epoch + 1,
            state.state_epoch,
            leader_epoch,
            start,
            count,
            now_ms,
            now_ms,
            tuple(merged),
        )
        return [SnapshotRecord(key, snapshot)]
    batches = merge((), update.batches, start)
    epochs = state.snapshot_epoch, leader_epoch
    return [
        UpdateRecord(key, *epochs, update.start, count, tuple(batches[begin:end]))
        for begin in range(0, max(len(batches), 1), BATCHES_MAX)
        for end in (begin + BATCHES_MAX,)
    ]


def _check_batches(batches: Sequence[StateBatch]) -> None:
    for first, last, state, count in batches:
        if not 0 <= first <= last or count < 0 or state not in WRITTEN_STATES:
            raise InvalidRequest(
                f"offsets {first} to {last} in state {state}, handed out {count} "
                "times, cannot be"
            )
    if not is_ordered(batches):
        raise InvalidRequest("offsets overlap, or are in no order")


# Read


def decide_read(shard: ShareStateShard, key: ShareKey, leader_epoch: int) -> Decision:
    """All that is known, for its leader; from now on it is the leader's.

    Raises:
        InvalidRequest: nothing is known.
        FencedLeaderEpoch: a newer leader has asked before.
        UnknownTopicOrPartition: there is no such partition any more.
    """
    state = _found(shard, key, leader_epoch)
    check_partition(shard.topics, key)
    if leader_epoch in (NO_EPOCH, state.leader_epoch):
        return Decision(response=state.stored(), reads_state=True)
    nothing_else = StateUpdate(
        state.state_epoch, leader_epoch, state.start, (), state.complete_count
    )
    return Decision(
        response=state.stored()._replace(leader_epoch=leader_epoch),
        records=_written(shard, key, nothing_else, leader_epoch),
    )


def decide_summary(shard: ShareStateShard, keys: Iterable[ShareKey]) -> Decision:
    """Where share partitions are; those that nothing is known of have not begun."""
    found: dict[ShareKey, StateSummary | KafkaError] = {}
    for key in keys:
        try:
            check_partition(shard.topics, key)
        except KafkaError as error:
            found[key] = error.as_value()
            continue
        state = shard.states.get(key)
        found[key] = StateSummary() if state is None else state.summary()
    return Decision(response=found, reads_state=True)


# Forget


def decide_delete(shard: ShareStateShard, keys: Iterable[ShareKey]) -> Decision:
    """Forget share partitions; of those that are not known there is nothing to do."""
    keys = list(keys)
    return Decision(
        response=dict.fromkeys(keys),
        records=[SnapshotRecord(key, None) for key in keys if key in shard.states],
        reads_state=True,
    )


def decide_forget_topic(shard: ShareStateShard, topic_id: bytes) -> Decision:
    """Forget what all groups did with a topic that is gone."""
    return Decision(
        records=[
            SnapshotRecord(key, None)
            for key in shard.states
            if key.topic_id == topic_id
        ]
    )


# Checks


def check_partition(topics: Topics, key: ShareKey) -> None:
    """See that the partition is there.

    Raises:
        UnknownTopicOrPartition: it is not.
    """
    topic = topics.by_id(key.topic_id)
    if topic is None or not 0 <= key.partition < len(topic.partitions):
        raise UnknownTopicOrPartition


def _found(shard: ShareStateShard, key: ShareKey, leader_epoch: int) -> ShareState:
    state = shard.states.get(key)
    if state is None:
        raise InvalidRequest("the share group has not begun with this partition")
    _check_epoch(state.leader_epoch, leader_epoch, FencedLeaderEpoch)
    return state


def _check_epoch(known: int, given: int, refused: type[KafkaError]) -> None:
    if given != NO_EPOCH and given < known:
        raise refused
