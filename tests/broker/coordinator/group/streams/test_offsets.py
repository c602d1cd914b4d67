from typing import Any

import pytest

from odradek.broker.coordinator.group.offsets.fetch import Fetcher, decide_fetch
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups


@pytest.fixture
def groups() -> StreamsGroups:
    """Member a gives up partition 1 of t: it is in epoch 2, the group in 3."""
    groups = StreamsGroups(t=2, u=1)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    return groups


def commit(
    groups: StreamsGroups, epoch: int, topic: str = "t", partition: int = 0
) -> int:
    places = [(topic, partition)]
    answer = groups.commit(7, member_id="a", generation_id=epoch, places=places)
    return answer[0] if isinstance(answer, list) else int(answer.code)


def fetch(groups: StreamsGroups, member_id: str | None, epoch: int) -> int:
    fetcher = Fetcher(GROUP, member_id, epoch)
    answer: Any = groups.decide(
        lambda shard: decide_fetch(shard, fetcher, [("t", 0)], False, list)
    )
    return 0 if isinstance(answer, list) else int(answer.code)


def test_in_its_epoch_a_member_commits_for_what_it_likes(
    groups: StreamsGroups,
) -> None:
    assert commit(groups, 2) == 0
    assert commit(groups, 2, "u") == 0


def test_not_in_a_later_one(groups: StreamsGroups) -> None:
    assert commit(groups, 3) == ErrorCode.STALE_MEMBER_EPOCH


def test_in_an_earlier_one_for_tasks_that_it_has_had_since(
    groups: StreamsGroups,
) -> None:
    groups.beat_as("a", owned={"0": [0]})
    assert groups.member("a").holding.epoch == 3
    assert commit(groups, 2) == 0
    assert commit(groups, 1) == ErrorCode.STALE_MEMBER_EPOCH, "older than the task"
    assert commit(groups, 2, partition=1) == ErrorCode.STALE_MEMBER_EPOCH, "not its own"
    assert commit(groups, 2, "u") == ErrorCode.STALE_MEMBER_EPOCH, "nobody reads it"


def test_by_an_old_request_no_member_commits(groups: StreamsGroups) -> None:
    answer = groups.commit(7, member_id="a", generation_id=2, api_version=8)
    assert answer.code == ErrorCode.UNSUPPORTED_VERSION


def test_nobody_in_particular_commits_only_for_an_empty_group(
    groups: StreamsGroups,
) -> None:
    assert groups.commit(7).code == ErrorCode.UNKNOWN_MEMBER_ID
    groups.beat_as("a", -1)
    groups.beat_as("b", -1)
    assert groups.commit(7) == [0]


def test_in_transactions_the_code_is_one_that_producers_know(
    groups: StreamsGroups,
) -> None:
    assert groups.txn_commit(9, member_id="a", generation_id=2) == [0]
    stale = groups.txn_commit(9, member_id="a", generation_id=9)
    assert stale.code == ErrorCode.ILLEGAL_GENERATION
    assert groups.txn_commit(9) == [0]


def test_a_member_fetches_in_its_epoch(groups: StreamsGroups) -> None:
    assert fetch(groups, "a", 2) == 0
    assert fetch(groups, "a", 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert fetch(groups, "c", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fetch(groups, None, -1) == 0


def test_offsets_of_what_is_read_stay(groups: StreamsGroups) -> None:
    assert groups.streams_group.subscribed_topics() == {"t"}
    groups.beat_as("a", -1)
    groups.beat_as("b", -1)
    assert groups.state.streams_groups[GROUP].subscribed_topics() == frozenset()
