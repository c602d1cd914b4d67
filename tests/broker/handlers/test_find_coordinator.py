from pathlib import Path

import pytest

from broker.handlers.find_coordinator import handle_find_coordinator
from protocol.errors import ErrorCode
from protocol.messages.groups import FindCoordinatorRequest
from tests.fakes.replicas import replicas

NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_one_key(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        asked = FindCoordinatorRequest(key="g1")
        answer = handle_find_coordinator(broker.context(version), asked)
        assert (answer.error_code, answer.node_id, answer.port) == (
            NOT_AVAILABLE,
            -1,
            -1,
        )
        assert answer.encode(version)


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_many_keys(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["g1", "", "g2"])
        answer = handle_find_coordinator(broker.context(version), asked)
        assert [each.key for each in answer.coordinators] == ["g1", "", "g2"]
        assert {each.error_code for each in answer.coordinators} == {NOT_AVAILABLE}
        assert answer.encode(version)
        nothing = FindCoordinatorRequest(key_type=0)
        answer = handle_find_coordinator(broker.context(version), nothing)
        assert answer.coordinators == []


@pytest.mark.parametrize("key_type", [2, 9, -1])
async def test_key_types_that_have_no_coordinator(
    tmp_path: Path, key_type: int
) -> None:
    async with replicas(tmp_path) as broker:
        asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
        answer = handle_find_coordinator(broker.context(6), asked)
        assert answer.coordinators[0].error_code == ErrorCode.INVALID_REQUEST
