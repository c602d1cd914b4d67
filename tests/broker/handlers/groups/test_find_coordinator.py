import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.groups.find_coordinator import handle_find_coordinator
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.groups import FindCoordinatorRequest
from tests.fakes.replicas import Replicas, replicas

OFFSETS = "__consumer_offsets"


async def told(broker: Replicas, request: FindCoordinatorRequest, version: int) -> Any:
    answer = handle_find_coordinator(broker.context(version), request)
    if asyncio.iscoroutine(answer):
        answer = await answer
    assert answer.encode(version)
    return answer


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_one_key(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        answer = await told(broker, FindCoordinatorRequest(key="g1"), version)
        assert (answer.error_code, answer.node_id, answer.port) == (0, 1, 9092)
        assert answer.host == "127.0.0.1"
        assert answer.error_message == "NONE"


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_many_keys(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["g1", "", "g2"])
        answer = await told(broker, asked, version)
        assert [each.key for each in answer.coordinators] == ["g1", "", "g2"]
        assert {each.error_code for each in answer.coordinators} == {0}
        assert {each.node_id for each in answer.coordinators} == {1}
        nothing = FindCoordinatorRequest(key_type=0)
        assert (await told(broker, nothing, version)).coordinators == []


async def test_the_first_one_makes_the_topic(tmp_path: Path) -> None:
    async with replicas(tmp_path, offsets_topic_num_partitions=7) as broker:
        request = FindCoordinatorRequest(key="g1")
        await told(broker, request, 3)
        topic = broker.topics.get(OFFSETS)
        assert topic is not None
        assert len(topic.partitions) == 7
        assert topic.options["cleanup.policy"] == "compact"
        again = handle_find_coordinator(broker.context(3), request)
        assert again.error_code == ErrorCode.NONE  # at once, now that it is there


async def test_many_first_ones_make_it_once(tmp_path: Path) -> None:
    async with replicas(tmp_path, offsets_topic_num_partitions=2) as broker:
        request = FindCoordinatorRequest(key="g1")
        answers = await asyncio.gather(*(told(broker, request, 3) for _ in range(5)))
        assert {each.error_code for each in answers} == {ErrorCode.NONE}


async def test_when_it_cannot_be_made_clients_ask_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:

        async def fails() -> None:
            raise KafkaStorageError

        monkeypatch.setattr(broker.services.groups, "create_topic", fails)
        answer = await told(broker, FindCoordinatorRequest(key="g1"), 3)
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (answer.node_id, answer.port) == (-1, -1)


async def test_transactions_have_a_topic_of_their_own(tmp_path: Path) -> None:
    async with replicas(tmp_path, transaction_state_log_num_partitions=3) as broker:
        asked = FindCoordinatorRequest(key_type=1, coordinator_keys=["t1"])
        answer = await told(broker, asked, 6)
        assert answer.coordinators[0].error_code == ErrorCode.NONE
        topic = broker.topics.get("__transaction_state")
        assert topic is not None
        assert len(topic.partitions) == 3
        assert topic.options["cleanup.policy"] == "compact"
        assert broker.topics.get(OFFSETS) is None


class TestSharePartitions:
    GOOD = "g:grljpYqMTUSO29C1qszRng:0"

    async def test_the_first_one_makes_the_topic(self, tmp_path: Path) -> None:
        async with replicas(tmp_path) as broker:
            asked = FindCoordinatorRequest(key_type=2, coordinator_keys=[self.GOOD])
            (found,) = (await told(broker, asked, 6)).coordinators
            assert (found.error_code, found.node_id, found.port) == (0, 1, 9092)
            assert broker.topics.get("__share_group_state") is not None
            assert broker.topics.get(OFFSETS) is None

    async def test_what_is_no_share_partition_is_nowhere(self, tmp_path: Path) -> None:
        async with replicas(tmp_path) as broker:
            wrong = ["", "g", "g:x:0", "g:grljpYqMTUSO29C1qszRng:-1"]
            asked = FindCoordinatorRequest(key_type=2, coordinator_keys=wrong)
            answer = await told(broker, asked, 6)
            codes = {each.error_code for each in answer.coordinators}
            assert codes == {ErrorCode.INVALID_REQUEST}
            assert broker.topics.get("__share_group_state") is None
            asked = FindCoordinatorRequest(
                key_type=2, coordinator_keys=[*wrong, self.GOOD]
            )
            answer = await told(broker, asked, 6)
            codes = [each.error_code for each in answer.coordinators]
            assert codes == [ErrorCode.INVALID_REQUEST] * 4 + [ErrorCode.NONE]

    async def test_before_version_6_there_are_none(self, tmp_path: Path) -> None:
        async with replicas(tmp_path) as broker:
            asked = FindCoordinatorRequest(key_type=2, coordinator_keys=[self.GOOD])
            (found,) = (await told(broker, asked, 5)).coordinators
            assert found.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("key_type", [3, 9, -1])
async def test_key_types_that_have_no_coordinator(
    tmp_path: Path, key_type: int
) -> None:
    async with replicas(tmp_path) as broker:
        asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
        answer = await told(broker, asked, 6)
        assert answer.coordinators[0].error_code == ErrorCode.INVALID_REQUEST
        assert broker.topics.get(OFFSETS) is None
