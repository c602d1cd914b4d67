"""What keeps ``__share_group_state`` short: snapshots, and cuts below them.

The log is never compacted, since updates say only what has changed. A share partition
that nobody writes to would hold the log's beginning; now and then it is written anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision

from .records import Snapshot, SnapshotRecord

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


def cut_below(partition: Partition, offset: int) -> bool:
    """Let the log begin at ``offset``, once that is replicated. Whether it does."""
    if partition.log is None or offset > partition.view.high_watermark:
        return False
    if offset > partition.view.log_start_offset:
        partition.log.increment_log_start(offset)
    return True
