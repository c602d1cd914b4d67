from typing import Any

import pytest

from odradek.broker.coordinator.group.offsets.expiry import decide_expiry
from odradek.broker.coordinator.group.offsets.fetch import Fetcher, decide_fetch
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups
from tests.broker.coordinator.group.rig import TOPIC_ID

DAY_MS = 24 * 3600 * 1000


def code_of(answer: Any) -> int:
    return int(answer.code) if isinstance(answer, KafkaError) else int(answer[0])


@pytest.fixture
def groups() -> ConsumerGroups:
    """``a`` has partition 0 since epoch 2, and 1 since 4; ``b`` has gone again."""
    groups = ConsumerGroups(t=2)
    topic = groups.topics.get("t")
    assert topic is not None
    topic.topic_id = TOPIC_ID  # which is what the rig commits for
    groups.join("a")
    groups.join("b")
    groups.settle()
    groups.beat_as("b", -1)
    groups.settle()
    assert groups.member("a").holding.assigned == {TOPIC_ID: {0: 2, 1: 4}}
    return groups


@pytest.mark.parametrize(
    ("epoch", "partitions", "code"),
    [
        (4, [0, 1, 7], 0),
        (5, [0], 113),
        (3, [0], 0),
        (2, [0], 0),
        (2, [0, 1], 113),
        (1, [0], 113),
        (3, [7], 113),
    ],
)
def test_a_member_commits_for_what_it_has_had_since_that_epoch(
    groups: ConsumerGroups, epoch: int, partitions: list[int], code: int
) -> None:
    places = [("t", partition) for partition in partitions]
    answer = groups.commit(9, member_id="a", generation_id=epoch, places=places)
    assert code_of(answer) == code
    if code:
        assert groups.offset() == -1, "all or nothing"


def test_what_it_has_yet_to_give_up_is_its_own(groups: ConsumerGroups) -> None:
    groups.join("c")
    groups.beat_as("a")
    assert groups.member("a").holding.pending
    places = [("t", 0), ("t", 1)]
    answer = groups.commit(9, member_id="a", generation_id=4, places=places)
    assert answer == [0, 0]


def test_others_do_not(groups: ConsumerGroups) -> None:
    assert code_of(groups.commit(9, member_id="x", generation_id=4)) == 25
    assert code_of(groups.commit(9)) == 25
    old = groups.commit(9, member_id="a", generation_id=4, api_version=8)
    assert code_of(old) == ErrorCode.UNSUPPORTED_VERSION
    groups.beat_as("a", -1)
    assert groups.commit(9) == [0], "nobody is there whom it would disturb"
    assert code_of(groups.commit(9, member_id="a", generation_id=4)) == 25


def test_in_transactions_the_code_is_one_that_producers_know(
    groups: ConsumerGroups,
) -> None:
    assert groups.txn_commit(9, member_id="a", generation_id=4) == [0]
    stale = groups.txn_commit(9, member_id="a", generation_id=9)
    assert code_of(stale) == ErrorCode.ILLEGAL_GENERATION
    assert groups.txn_commit(9) == [0]  # old producers do not say for whom


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [(None, -1, 0), ("a", 4, 0), ("a", 3, 113), ("x", 4, 25), ("", -1, 25)],
)
def test_who_fetches_as_a_member_is_one(
    groups: ConsumerGroups, member_id: str | None, epoch: int, code: int
) -> None:
    fetcher = Fetcher(GROUP, member_id, epoch)
    answer = groups.decide(
        lambda shard: decide_fetch(shard, fetcher, [("t", 0)], True, list)
    )
    assert (answer.code if isinstance(answer, KafkaError) else 0) == code


def test_offsets_expire_of_topics_that_nobody_reads(groups: ConsumerGroups) -> None:
    places = [("t", 0), ("u", 0)]
    groups.commit(9, member_id="a", generation_id=4, places=places)
    for _ in range(8 * 24 * 60 * 2):
        groups.clock.advance(30_000)
        groups.beat_as("a")
    groups.decide(decide_expiry)
    assert [groups.offset("t"), groups.offset("u")] == [9, -1]


def test_an_empty_group_without_offsets_goes(groups: ConsumerGroups) -> None:
    groups.commit(9, member_id="a", generation_id=4)
    groups.beat_as("a", -1)
    groups.decide(decide_expiry)
    assert groups.offset() == 9
    groups.clock.advance(8 * DAY_MS)
    groups.decide(decide_expiry)
    assert groups.offset() == -1
    assert not groups.state.consumer_groups
