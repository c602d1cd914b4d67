"""Partitions that a share group reads for the first time get a state.

The share coordinator keeps it, in a log of its own. Until it has answered nobody is
assigned these partitions, and the heartbeats that asked for them wait: so the first
answer that a member gets is its assignment. That states are being begun is noted, since
the broker may stop in between; then the next heartbeat begins them again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.share.beginning import Beginning
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import KafkaError

from .answers import refused_share_beat
from .asking import begin_states, begun, first_error, starts_of
from .draft import ShareDraft
from .heartbeat import decide_share_beat, decide_share_beat_as_it_is
from .sessions import tell

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.states import Topics
    from odradek.broker.coordinator.share.service import Results

    from .heartbeat import ShareBeat


def decide_beginning(
    shard: GroupShard, draft: ShareDraft, missing: Topics, beat: ShareBeat
) -> Decision:
    """Have states begun, unless that is under way, and let the heartbeat wait."""
    group_id, answer = draft.group.group_id, Parked[Any]()
    known = shard.beginnings.get(group_id)
    beginning = known or Beginning(missing)
    beginning.waiting.append((beat, answer))
    if known is None:
        shard.beginnings[group_id] = beginning
        draft.put_states(draft.states.beginning(missing))
        shard.run_soon(partial(_begin, shard, group_id, beginning, draft.epoch))
    undo = partial(_give_up, shard, group_id)
    return Decision(answer, draft.records, undo=undo)


def dismiss(shard: GroupShard, error: KafkaError) -> None:
    """Answer everybody who waits: the shard is unloaded."""
    for group_id in list(shard.beginnings):
        _give_up(shard, group_id, error)


def _give_up(shard: GroupShard, group_id: str, error: KafkaError) -> None:
    """What a heartbeat said was not written, and nobody waits any more."""
    beginning = shard.beginnings.pop(group_id, None)
    if beginning is not None:
        for _, answer in beginning.waiting:
            if not answer.done():
                answer.set_result(refused_share_beat(error))


def _begin(shard: GroupShard, group_id: str, beginning: Beginning, epoch: int) -> None:
    if shard.beginnings.get(group_id) is beginning:
        starts = starts_of(group_id, beginning.topics)
        go_on = partial(_go_on, shard, group_id, beginning)
        try:
            begin_states(shard, starts, epoch, go_on)
        except BaseException:
            _give_up(shard, group_id, KafkaError())
            raise


def _go_on(
    shard: GroupShard, group_id: str, beginning: Beginning, results: Results
) -> None:
    """Note which states there are, and answer the heartbeats that waited for them."""
    if shard.beginnings.get(group_id) is not beginning:
        return
    try:
        _note_states(shard, group_id, begun(beginning.topics, results))
    except KafkaError as error:
        _give_up(shard, group_id, error)
        return
    del shard.beginnings[group_id]
    failed, group = first_error(results), shard.share_groups.get(group_id)
    if failed is not None and group is not None:
        tell(group_id, group.epoch, f"some partitions cannot be read yet: {failed}")
    # What went wrong is begun again by a later heartbeat, not by these.
    decide = decide_share_beat if failed is None else decide_share_beat_as_it_is
    for beat, answer in beginning.waiting:
        if not answer.done():
            again = partial(_again, decide, beat)
            answer.follow(shard.ask(again, refused_share_beat))


def _again(decide: Any, beat: ShareBeat, shard: GroupShard) -> Decision:
    decision: Decision = decide(shard, beat)
    return decision


def _note_states(shard: GroupShard, group_id: str, topics: Topics) -> None:
    group = shard.share_groups.get(group_id)
    if group is None or not topics:
        return
    draft = ShareDraft(shard, group)
    draft.put_states(draft.states.begun(topics))
    draft.bump()
    shard.carry_out(Decision(records=draft.records))
