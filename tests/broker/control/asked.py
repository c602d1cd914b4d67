"""Requests of tests, asked without a socket."""

from collections.abc import Mapping
from typing import Any

import pytest

from odradek.broker.coordinator.group.offsets.commit import Committer, WantedOffset
from odradek.broker.operate.admin_socket import AdminError, AdminRequest
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import Replicas

Requests = Mapping[str, AdminRequest]


async def answer(requests: Requests, name: str, **fields: Any) -> list[dict[str, Any]]:
    """All items of the answer."""
    return [dict(item) async for item in requests[name](fields)]


async def refused(requests: Requests, name: str, **fields: Any) -> str:
    """Why it is refused: the word, and the message."""
    with pytest.raises(AdminError) as caught:
        await answer(requests, name, **fields)
    return f"{caught.value.word}: {caught.value}"


def append(broker: Replicas, place: TopicPartition, batch: memoryview) -> None:
    """Write a batch; with ``durability=none`` it is there at once."""
    broker.manager.append_records({place: batch}, acks=1, timeout_ms=0)


def commit(broker: Replicas, group_id: str, place: TopicPartition, offset: int) -> None:
    """Commit an offset, as one who is in no group."""
    topic_id = broker.topics.known(place.topic).topic_id
    wanted = [WantedOffset(*place, offset, -1, "", topic_id)]
    codes: list[int] = []
    broker.services.groups.commit(
        Committer(group_id), wanted, 8, -1, codes.extend, _never
    )


def _never(error: KafkaError) -> None:
    raise error
