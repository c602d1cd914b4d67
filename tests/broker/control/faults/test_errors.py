"""Errors in answers: T330, T334, T335, by frames and by clients."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.offsets import OffsetCommitResponse
from tests.fakes.faulty import faulty
from tests.fakes.traced import COMMIT_VERSION, FETCH_VERSION, commit, fetch, produce

NOT_LEADER = {"code": "NOT_LEADER_OR_FOLLOWER"}
REFUSED = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)


async def test_a_rule_for_one_partition_leaves_the_other_alone(tmp_path: Path) -> None:
    """T335: 0 is stored, 1 refused, in one answer."""
    async with faulty(tmp_path) as broker:
        match = {"api": "Produce", "topic": "t", "partition": 1}
        rule = broker.arm(match=match, error=NOT_LEADER)
        await broker.send(produce(0, 1))
        assert broker.codes() == [{0: 0, 1: REFUSED}]
        assert (broker.end_of(0), broker.end_of(1)) == (1, 0)
        assert rule.count == 1


async def test_without_a_place_the_whole_request_is_refused(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match={"api": "Produce"}, when={"times": 1}, error=NOT_LEADER)
        await broker.send(produce(0, 1) + produce(0, 1))
        assert broker.codes() == [{0: REFUSED, 1: REFUSED}, {0: 0, 1: 0}]
        assert broker.end_of(0) == 1


async def test_applied_it_is_done_and_denied(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        match = {"api": "Produce", "topic": "t", "partition": 1}
        broker.arm(match=match, error={**NOT_LEADER, "applied": True})
        await broker.send(produce(0, 1))
        assert broker.codes() == [{0: 0, 1: REFUSED}]
        assert (broker.end_of(0), broker.end_of(1)) == (1, 1)


async def test_a_fetch_that_would_wait_is_answered_at_once(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match={"api": "Fetch", "topic": "t"}, error=NOT_LEADER)
        await broker.send(fetch(0, max_wait_ms=60_000))
        [answer] = broker.answers(FetchResponse, FETCH_VERSION)
        [partition] = answer.responses[0].partitions
        assert partition.error_code == REFUSED
        assert answer.error_code == 0


async def test_an_error_of_the_session_stands_on_top(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        code = {"code": "FETCH_SESSION_ID_NOT_FOUND"}
        broker.arm(match={"api": "Fetch"}, error=code)
        await broker.send(fetch(0, max_wait_ms=60_000))
        [answer] = broker.answers(FetchResponse, FETCH_VERSION)
        assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_a_code_of_a_group_stands_at_each_partition(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        code = {"code": "NOT_COORDINATOR"}
        broker.arm(match={"api": "OffsetCommit", "group": "g"}, error=code)
        await broker.send(commit())
        [answer] = broker.answers(OffsetCommitResponse, COMMIT_VERSION)
        [partition] = answer.topics[0].partitions
        assert partition.error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"match": {}, "error": NOT_LEADER}, "needs the api"),
        ({"match": {"api": "Produce"}, "error": {"code": "NONE"}}, "not an error"),
        ({"match": {"api": "Produce"}, "error": {}}, "code is missing"),
        (
            {"match": {"api": "Heartbeat"}, "error": NOT_LEADER},
            "Heartbeat never answers NOT_LEADER_OR_FOLLOWER",
        ),
    ],
)
async def test_an_error_that_makes_no_sense_is_refused(
    tmp_path: Path, rule: dict[str, Any], said: str
) -> None:
    async with faulty(tmp_path) as broker:
        with pytest.raises(AdminError, match=said):
            broker.arm(**rule)
        assert broker.is_untouched
        assert not list(broker.rules)


async def test_a_strange_code_can_be_forced(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        code = {"code": "ILLEGAL_GENERATION", "force": True}
        broker.arm(match={"api": "Produce"}, error=code)
        await broker.send(produce(0))
        assert broker.codes() == [{0: ErrorCode.ILLEGAL_GENERATION}]


async def test_of_topics_that_are_not_meant_nothing_is_changed(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match={"api": "Produce", "topic": "u"}, error=NOT_LEADER)
        await broker.send(produce(0))
        assert (broker.codes(), rule.count) == ([{0: 0}], 0)
