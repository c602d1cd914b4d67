from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.transactions.init_producer_id import (
    handle_init_producer_id,
    refuse_init_producer_id,
)
from odradek.protocol.errors import ErrorCode, InvalidRequest, KafkaError
from odradek.protocol.messages.transactions import InitProducerIdRequest
from tests.fakes.replicas import Replicas, replicas
from tests.fakes.transactions import transaction_client


def request(transactional_id: str | None = None, **fields: Any) -> Any:
    return InitProducerIdRequest(transactional_id=transactional_id, **fields)


async def next_id(broker: Replicas) -> int:
    answer = handle_init_producer_id(broker.context(4), request())
    if hasattr(answer, "__await__"):
        answer = await answer
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    producer_id: int = answer.producer_id
    return producer_id


async def test_ids_are_given_once_also_after_a_kill(tmp_path: Path) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        ids = [await next_id(broker) for _ in range(1500)]
    async with replicas(tmp_path) as broker:
        ids += [await next_id(broker) for _ in range(10)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"transactional_id": ""}, InvalidRequest),
        ({"producer_epoch": 3}, InvalidRequest),
        ({"producer_id": 3}, InvalidRequest),
    ],
)
async def test_what_is_refused(
    tmp_path: Path, fields: dict[str, Any], error: type[KafkaError]
) -> None:
    async with replicas(tmp_path) as broker:
        asked = request(**fields)
        with pytest.raises(error) as caught:
            handle_init_producer_id(broker.context(4), asked)
        answer = refuse_init_producer_id(asked, caught.value)
        assert answer.error_code == error.code
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
        assert not error.retriable, "a client would ask for ever"


async def test_a_transactional_id_keeps_its_producer_id(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        first = await client.producer()
        assert first[1] == 0
        assert await client.producer() == (first[0], 1)
        # One that recovers says who it is (KIP-360), once more if need be.
        assert await client.producer(expected=(first[0], 1)) == (first[0], 2)
        assert await client.producer(expected=(first[0], 1)) == (first[0], 2)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
async def test_who_is_fenced_is_told_as_it_knows(
    tmp_path: Path, version: int, code: int
) -> None:
    async with transaction_client(tmp_path) as client:
        producer_id, _ = await client.producer()
        asked = client.init(version, expected=(producer_id + 1, 0))
        answer = await client.told(asked)
        assert answer.error_code == code
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_timeouts_that_are_none(tmp_path: Path, timeout_ms: int) -> None:
    async with transaction_client(tmp_path) as client:
        answer = await client.told(client.init(timeout_ms=timeout_ms))
        assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
