"""What keeps ``__share_group_state`` short: snapshots, and cuts below them.

The log is never compacted, since updates say only what has changed. A share partition
that nobody writes to would hold the log's beginning; now and then it is written anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision

from .records import BATCHES_MAX, Snapshot, SnapshotRecord

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition

    from .shard import ShareStateShard
    from .state import ShareState

COLD_MS = 300_000


def decide_cold_snapshots(shard: ShareStateShard) -> Decision:
    """Write anew what holds many records that nobody else needs.

    These are more than twice as many as all snapshots would be, so that this writes
    less than what has been written since.
    """
    held_count_max = 2 * len(shard.states)
    now_ms = shard.clock.now_ms()
    return Decision(
        records=[
            SnapshotRecord(key, _again(state, now_ms))
            for key, state in shard.states.items()
            if now_ms - state.written_ms >= COLD_MS
            and shard.next_offset - state.snapshot_offset > held_count_max
            and len(state.batches) <= BATCHES_MAX
        ]
    )


def _again(state: ShareState, now_ms: int) -> Snapshot:
    return Snapshot(
        state.snapshot_epoch + 1,
        state.state_epoch,
        state.leader_epoch,
        state.start,
        state.complete_count,
        state.created_ms,
        now_ms,
        tuple(state.batches),
    )


def decide_first_needed(shard: ShareStateShard) -> Decision:
    """From where on records are needed; told when nothing of that can be lost.

    A snapshot that a power cut takes is no reason to cut off the one before.
    """
    return Decision(shard.first_needed_offset, reads_state=True)


def cut_below(partition: Partition, offset: int) -> None:
    """Let the log begin at ``offset``, which is replicated."""
    if partition.log is not None and offset > partition.view.log_start_offset:
        partition.log.increment_log_start(offset)
