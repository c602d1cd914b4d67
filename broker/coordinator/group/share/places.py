"""Where a share group is, for administrators: told, moved, forgotten.

The share coordinator keeps the places themselves; the group knows of which partitions
there are any. A group is moved, or made to forget, only while nobody is in it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.known import not_of_type
from odradek.broker.coordinator.group.state.share.states import (
    NO_STATES,
    States,
    TopicStates,
)
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import NonEmptyGroup, UnknownTopicOrPartition

from .asking import begin_states, begun, delete_states
from .draft import ShareDraft
from .finding import TYPE, find_group, known_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.group import ShareGroup
    from odradek.broker.coordinator.group.state.share.states import Topics
    from odradek.broker.coordinator.share.service import Results
    from odradek.protocol.errors import KafkaError

    TopicResults = dict[bytes, KafkaError | None]


def decide_tell_states(shard: GroupShard, group_id: str) -> Decision:
    """Of which partitions the group has, or had, a place; of none if it is not there.

    Raises:
        GroupIdNotFound: it is a group of another type.
    """
    group = shard.share_groups.get(group_id)
    if group is not None:
        return Decision(group.states, reads_state=True)
    if shard.group_of_any_type(group_id) is not None:
        raise not_of_type(group_id, TYPE)
    return Decision(NO_STATES, reads_state=True)


def decide_move(
    shard: GroupShard,
    group_id: str,
    names: Mapping[bytes, str],
    offsets: Mapping[tuple[bytes, int], int],
) -> Decision:
    """Let a group go on at these offsets; one that is not there is made for that.

    ``names`` are those of the topics. The answer is `Results`, when all is durable.

    Raises:
        GroupIdNotFound: it is a group of another type.
        NonEmptyGroup: it has members.
    """
    group = find_group(shard, group_id, is_joining=True)
    _check_empty(group)
    if not offsets:
        return Decision({})
    draft, answer = ShareDraft(shard, group), Parked[Any]()
    numbers: dict[bytes, set[int]] = {}
    for topic_id, number in offsets:
        numbers.setdefault(topic_id, set()).add(number)
    topics = {
        topic_id: TopicStates(names[topic_id], frozenset(some))
        for topic_id, some in numbers.items()
    }
    if group.epoch:
        # Who has read the states before, and writes them from now on, is late.
        draft.bump()
    else:
        draft.write_epoch()
    draft.put_states(draft.states.beginning(topics))
    starts = {ShareKey(group_id, *place): at for place, at in offsets.items()}
    go_on = partial(_moved, shard, group_id, topics, answer)
    begin = partial(begin_states, shard, starts, draft.epoch, go_on)
    return Decision(answer, draft.records, then=begin)


def _moved(
    shard: GroupShard, group_id: str, topics: Topics, answer: Parked, results: Results
) -> None:
    there = begun(topics, results)
    note = partial(_decide_noting, group_id, there, results)

    def refused(error: KafkaError) -> Results:
        return {key: known or error for key, known in results.items()}

    answer.follow(shard.ask(note, refused))


def _decide_noting(
    group_id: str, topics: Topics, results: Results, shard: GroupShard
) -> Decision:
    group = known_group(shard, group_id)
    draft = ShareDraft(shard, group)
    draft.put_states(draft.states.begun(topics))
    return Decision(results, draft.records, reads_state=True)


def decide_forget(
    shard: GroupShard, group_id: str, topic_ids: Iterable[bytes]
) -> Decision:
    """Let a group have no place in these topics any more.

    The answer says of each topic None, or what went wrong, when all is durable.

    Raises:
        GroupIdNotFound: there is no such share group.
        NonEmptyGroup: it has members.
    """
    group = known_group(shard, group_id)
    _check_empty(group)
    states = group.states
    results: TopicResults = {}
    keys: list[ShareKey] = []
    for topic_id in topic_ids:
        results[topic_id] = None
        of_topic = _keys_of(shard, group, topic_id)
        keys += of_topic
        if not (of_topic or topic_id in states.deleting):
            results[topic_id] = UnknownTopicOrPartition(
                "There is no offset information to delete."
            )
    gone = [topic_id for topic_id, error in results.items() if error is None]
    if not gone:
        return Decision(results, reads_state=True)
    draft, answer = ShareDraft(shard, group), Parked[Any]()
    draft.put_states(states.ending(gone))
    go_on = partial(_forgotten, shard, group_id, results, answer)
    delete = partial(delete_states, shard, keys, go_on)
    return Decision(answer, draft.records, then=delete)


def _keys_of(shard: GroupShard, group: ShareGroup, topic_id: bytes) -> list[ShareKey]:
    """What may have a state, of one topic."""
    keys = [
        ShareKey(group.group_id, *place)
        for place in group.states.places()
        if place[0] == topic_id
    ]
    topic = shard.topics.by_id(topic_id)
    if not keys and topic_id in group.states.deleting and topic is not None:
        numbers = range(len(topic.partitions))
        keys = [ShareKey(group.group_id, topic_id, number) for number in numbers]
    return keys


def _forgotten(
    shard: GroupShard,
    group_id: str,
    results: TopicResults,
    answer: Parked,
    deleted: Results,
) -> None:
    for key, error in deleted.items():
        if error is not None:
            results[key.topic_id] = error
    gone = [topic_id for topic_id, error in results.items() if error is None]

    def refused(error: KafkaError) -> TopicResults:
        return {topic_id: known or error for topic_id, known in results.items()}

    forget = partial(_decide_forgetting, group_id, gone, results)
    answer.follow(shard.ask(forget, refused))


def _decide_forgetting(
    group_id: str, gone: list[bytes], results: TopicResults, shard: GroupShard
) -> Decision:
    group = known_group(shard, group_id)
    draft = ShareDraft(shard, group)
    # Who has joined meanwhile may have begun anew.
    ending: States = draft.states
    over = [topic_id for topic_id in gone if topic_id in ending.deleting]
    draft.put_states(ending.without(over))
    return Decision(results, draft.records, reads_state=True)


def _check_empty(group: ShareGroup) -> None:
    if not group.is_empty:
        raise NonEmptyGroup("The group is not empty.")
