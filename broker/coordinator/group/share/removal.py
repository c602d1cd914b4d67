"""A share group without members is forgotten, and where it was before that.

Its states go first: a group that is gone cannot say what there was to delete. Until
then they are noted as being deleted, so that nobody is assigned a partition whose
state is gone, whenever the broker stops.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.share import records
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.metadata.topic_names import SHARE_GROUP_STATE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, NonEmptyGroup

from .asking import delete_states, first_error
from .draft import ShareDraft
from .finding import known_group

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.group import ShareGroup
    from odradek.broker.coordinator.share.service import Results
    from odradek.protocol.errors import KafkaError


def decide_delete_share(shard: GroupShard, group_id: str) -> Decision:
    """Forget a group without members. The answer is 0, or the code of an error.

    Raises:
        GroupIdNotFound, NonEmptyGroup.
    """
    group = known_group(shard, group_id)
    if not group.is_empty:
        raise NonEmptyGroup
    keys = _keys(shard, group)
    if not keys:
        return Decision(ErrorCode.NONE, _records_gone(shard, group))
    draft, answer = ShareDraft(shard, group), Parked[Any]()
    states = group.states
    draft.put_states(states.ending([*states.initialized, *states.initializing]))
    go_on = partial(_go_on, shard, group_id, answer)
    delete = partial(delete_states, shard, keys, go_on)
    # Without records an earlier attempt has noted it.
    return Decision(answer, draft.records, then=delete)


def _keys(shard: GroupShard, group: ShareGroup) -> list[ShareKey]:
    """What may have a state. Of a topic that is gone there is none."""
    keys = dict.fromkeys(
        ShareKey(group.group_id, *place) for place in group.states.places()
    )
    for topic_id in group.states.deleting:
        topic = shard.topics.by_id(topic_id)
        if topic is not None:
            for number in range(len(topic.partitions)):
                keys[ShareKey(group.group_id, topic_id, number)] = None
    return list(keys)


def _go_on(shard: GroupShard, group_id: str, answer: Parked, results: Results) -> None:
    error = first_error(results)
    if error is not None:
        answer.set_result(error.code)
        return
    forgotten = shard.ask(partial(_decide_forgetting, group_id), _code)
    answer.follow(forgotten)


def _code(error: KafkaError) -> int:
    return error.code


def _decide_forgetting(group_id: str, shard: GroupShard) -> Decision:
    group = known_group(shard, group_id)
    if not group.is_empty:  # somebody has joined meanwhile
        raise NonEmptyGroup
    return Decision(ErrorCode.NONE, _records_gone(shard, group))


def _records_gone(shard: GroupShard, group: ShareGroup) -> list[Any]:
    """Tombstones for all that is written of a group."""
    draft = ShareDraft(shard, group)
    # Of members that are gone nothing is left, if all went as it should.
    for member_id in group.targets:
        draft.put(records.TARGET_KEY, member_id)
    draft.put(records.TARGET_EPOCH_KEY)
    if not group.states.is_empty:
        draft.put(records.STATES_KEY)
    draft.put(records.EPOCH_KEY)
    return draft.records


def forget_topic(shard: GroupShard, name: str, topic_id: bytes | None) -> list[Any]:
    """The records of groups that had a place in a topic that was deleted.

    The share coordinator forgets the places themselves; with its own topic it knows
    none any more, and the next heartbeats begin anew.
    """
    has_all_states = name == SHARE_GROUP_STATE and topic_id is None
    found: list[Any] = []
    for group in shard.share_groups.values():
        states = group.states
        known = {key: each.name for key, each in states.initialized.items()}
        known |= {key: each.name for key, each in states.initializing.items()}
        known |= states.deleting
        gone = [
            key
            for key, each in known.items()
            if has_all_states or (each == name and topic_id in (None, key))
        ]
        draft = ShareDraft(shard, group)
        draft.put_states(states.without(gone))
        found += draft.records
    return found
