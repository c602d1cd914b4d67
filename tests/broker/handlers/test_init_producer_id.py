from pathlib import Path
from typing import Any

import pytest

from broker.handlers.init_producer_id import (
    handle_init_producer_id,
    refuse_init_producer_id,
)
from protocol.errors import (
    InvalidRequest,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from protocol.messages.transactions import InitProducerIdRequest
from tests.fakes.replicas import Replicas, replicas


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
        ({"transactional_id": "t1"}, TransactionalIdAuthorizationFailed),
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
