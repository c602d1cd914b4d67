"""How much share groups have left to do: where partitions end, whoever leads them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from odradek.broker.coordinator.share.state import NO_START, StateSummary
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.runtime.parked import Parked
    from odradek.protocol.topic_partition import TopicPartition

    Ends = dict[TopicPartition, int]

UNKNOWN_LAG: Final = -1


async def ends_of(ctx: RequestContext, places: Sequence[TopicPartition]) -> Ends:
    """Where readers see partitions end; without those of which nobody says it."""
    others = ctx.services.other_brokers
    if others is None:
        return await _ends_here(ctx, places)
    leaders = {place: others.leader_of(place) for place in places}
    asked: dict[TopicPartition, Parked[int]] = {
        place: others.end_of(leader, place)
        for place, leader in leaders.items()
        if leader is not None and leader != others.node_id
    }
    here = [each for each in places if leaders[each] == others.node_id]
    ends = await _ends_here(ctx, here)
    for place, answer in asked.items():
        end = await answer
        if end >= 0:
            ends[place] = end
    return ends


async def _ends_here(ctx: RequestContext, places: Sequence[TopicPartition]) -> Ends:
    """Have them open, and their ends where readers see them."""
    replica_manager = ctx.services.replica_manager
    await replica_manager.open(places)
    hidden = replica_manager.visible_ends.hidden(places)
    if hidden:
        await replica_manager.visible_ends.wait(hidden)
    ends: Ends = {}
    for place in places:
        with suppress(KafkaError):  # deleted meanwhile
            ends[place] = replica_manager.partition(place).view.high_watermark
    return ends


def lag_of(summary: StateSummary, end: int | None) -> int:
    """How many records are not done; what is done behind the start does not count."""
    if end is None or summary.start == NO_START or summary.complete_count < 0:
        return UNKNOWN_LAG
    return max(end - summary.start - summary.complete_count, 0)
