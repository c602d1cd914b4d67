"""Share groups as handlers know them: one method for each question.

As with `GroupCoordinator`, a method returns the response, or a `Parked` one; what it
refuses is the response that ``refuse`` makes of the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import InvalidGroupId

from .describe import decide_describe_share_group
from .heartbeat import decide_share_beat
from .places import decide_forget, decide_move, decide_tell_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from odradek.broker.coordinator.decision import Decision
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.broker.runtime.parked import Parked, T
    from odradek.protocol.errors import KafkaError

    from .heartbeat import ShareBeat

    Refuse = Callable[[KafkaError], T]


class ShareGroupCoordinator:
    """The share groups of this broker."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard]) -> None:
        self._runtime = runtime

    def beat(self, beat: ShareBeat, refuse: Refuse[T]) -> T | Parked[T]:
        """The answer of a ShareGroupHeartbeat."""
        return self._act(
            beat.request.group_id, lambda shard: decide_share_beat(shard, beat), refuse
        )

    def describe(self, group_id: str, refuse: Refuse[T]) -> T | Parked[T]:
        """What a group does."""
        return self._act(
            group_id, lambda shard: decide_describe_share_group(shard, group_id), refuse
        )

    def states(self, group_id: str, refuse: Refuse[T]) -> T | Parked[T]:
        """The `States` of a group: in which partitions it has a place."""
        return self._act(
            group_id, lambda shard: decide_tell_states(shard, group_id), refuse
        )

    def move(
        self,
        group_id: str,
        names: Mapping[bytes, str],
        offsets: Mapping[tuple[bytes, int], int],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The `Results` of letting a group go on at these offsets."""
        return self._act(
            group_id,
            lambda shard: decide_move(shard, group_id, names, offsets),
            refuse,
        )

    def forget(
        self, group_id: str, topic_ids: Sequence[bytes], refuse: Refuse[T]
    ) -> T | Parked[T]:
        """None, or an error, for each topic in which a group had a place."""
        return self._act(
            group_id, lambda shard: decide_forget(shard, group_id, topic_ids), refuse
        )

    def _act(
        self, group_id: str, decide: Callable[[GroupShard], Decision], refuse: Refuse[T]
    ) -> T | Parked[T]:
        if not group_id:
            return refuse(InvalidGroupId())
        return self._runtime.act(group_id, decide, refuse)
