"""The target of a group: which member shall read what in its present epoch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from odradek.broker.coordinator.group.consumer.settings import assignment_interval_ms
from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.records import TargetEpoch

from .assignors.range import assign_range
from .assignors.subscriber import Subscriber
from .assignors.uniform import assign_uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from odradek.broker.coordinator.group.consumer.draft import Draft
    from odradek.broker.coordinator.group.state.consumer.member import (
        MemberInfo,
        Partitions,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard

    Assign = Callable[
        [Sequence[Subscriber], Mapping[bytes, int]], Mapping[str, Partitions]
    ]

ASSIGNORS: Final[Mapping[str, Assign]] = {
    "uniform": assign_uniform,
    "range": assign_range,
}


def assign(shard: GroupShard, draft: Draft) -> None:
    """Find a target for the group's epoch, unless it is too soon after the last one.

    Then a later heartbeat finds it; until then the old one holds.
    """
    if draft.epoch <= draft.assignment_epoch:
        return
    group, now_ms = draft.group, shard.clock.now_ms()
    interval_ms = assignment_interval_ms(shard, group.group_id)
    passed_ms = now_ms - group.assignment_time_ms
    # A clock that was set back must not keep the group waiting.
    if group.assignment_time_ms >= 0 and 0 <= passed_ms < interval_ms:
        return
    infos = dict(draft.infos())
    name = preferred_assignor(infos.values(), shard.config.group_consumer_assignors)
    counts: dict[bytes, int] = {}
    ids_of: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    subscribers = []
    for member_id, info in infos.items():
        key = info.topic_names, info.pattern
        topic_ids = ids_of.get(key)
        if topic_ids is None:  # mostly all members say the same
            topics = shard.known_topics(group.topics_of(info))
            counts.update((each.topic_id, len(each.partitions)) for each in topics)
            topic_ids = ids_of[key] = frozenset(each.topic_id for each in topics)
        had = draft.target_of(member_id)
        subscribers.append(Subscriber(member_id, info.instance_id, topic_ids, had))
    for member_id, target in ASSIGNORS[name](subscribers, counts).items():
        if member_id not in group.targets or target != draft.target_of(member_id):
            draft.put(records.TARGET_KEY, member_id, target)
        draft.targets[member_id] = target
    draft.assignment_epoch = draft.epoch
    draft.put(records.TARGET_EPOCH_KEY, value=TargetEpoch(draft.epoch, now_ms))


def preferred_assignor(infos: Iterable[MemberInfo], allowed: Sequence[str]) -> str:
    """The assignor that most members name; the first one that is allowed if none do."""
    votes = Counter(each.assignor for each in infos if each.assignor in allowed)
    named = max(votes.values(), default=0)
    for name in allowed:
        if named and votes[name] == named:
            return name
    return allowed[0]
