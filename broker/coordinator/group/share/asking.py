"""The share coordinator is asked, and a group goes on with its answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.share.state import NO_START, ShareKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.states import Topics
    from odradek.broker.coordinator.share.service import Results

    GoOn = Callable[[Results], object]


def begin_states(
    shard: GroupShard, starts: Mapping[ShareKey, int], epoch: int, go_on: GoOn
) -> None:
    """Have states begun; ``go_on`` is told what became of each."""
    answer = shard.share_states().initialise(starts, epoch, _as_they_are)
    _listen(shard, answer, starts, go_on)


def delete_states(shard: GroupShard, keys: Iterable[ShareKey], go_on: GoOn) -> None:
    """Have states forgotten; ``go_on`` is told what became of each."""
    keys = list(keys)
    answer = shard.share_states().delete(keys, _as_they_are)
    _listen(shard, answer, keys, go_on)


def starts_of(group_id: str, topics: Topics) -> dict[ShareKey, int]:
    """States that begin where their first fetch says."""
    return {
        ShareKey(group_id, topic_id, number): NO_START
        for topic_id, topic in topics.items()
        for number in sorted(topic.partitions)
    }


def begun(topics: Topics, results: Results) -> Topics:
    """Those of the partitions that have a state now."""
    good: dict[bytes, set[int]] = {}
    for key, error in results.items():
        if error is None:
            good.setdefault(key.topic_id, set()).add(key.partition)
    return {
        topic_id: topics[topic_id]._replace(partitions=frozenset(numbers))
        for topic_id, numbers in good.items()
    }


def first_error(results: Results) -> KafkaError | None:
    """One of those that went wrong, if any did."""
    return next((error for error in results.values() if error is not None), None)


def _as_they_are(results: Results) -> Results:
    return results


def _listen(
    shard: GroupShard,
    answer: Results | Parked[Results],
    keys: Iterable[ShareKey],
    go_on: GoOn,
) -> None:
    if not isinstance(answer, Parked):
        go_on(answer)
        return

    def note(answered: Parked[Results]) -> None:
        """It is answered inside of another change: go on in a turn of one's own."""
        results: Results
        if answered.error is None:
            results = answered.result()
        else:
            known = answered.error
            error = known if isinstance(known, KafkaError) else KafkaError()
            results = dict.fromkeys(keys, error)
        shard.run_soon(partial(go_on, results))

    answer.listen(note)
