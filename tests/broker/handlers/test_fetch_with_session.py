"""Fetch requests that go on with a session: each names only what has changed."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.protocol.errors import ErrorCode, FetchSessionIdNotFound
from odradek.protocol.messages.fetch import FetchRequest, FetchTopic, ForgottenTopic
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.records.test_fetch import at, filled, request
from tests.fakes.answers import fetched
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas


def answered(broker: Replicas, asked: FetchRequest, version: int = 12) -> Any:
    answer = fetched(handle_fetch(broker.context(version), asked), version)
    assert answer.error_code == ErrorCode.NONE
    return answer


def told(answer: Any) -> dict[int, list[int]]:
    """The base offsets that came of each partition."""
    return {
        each.partition_index: base_offsets(each.records)
        for topic in answer.responses
        for each in topic.partitions
    }


async def append(broker: Replicas, partition: int) -> None:
    key = TopicPartition("t", partition)
    broker.manager.append_records({key: batch_of(b"v")}, acks=1, timeout_ms=1000)
    await broker.commit()


async def test_a_session_tells_what_is_new(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=3)
        asked = request(*(("t", at(1, each)) for each in range(3)), session_epoch=0)
        first = answered(broker, asked)
        assert first.session_id > 0
        assert told(first) == {0: [], 1: [], 2: []}
        again = {"session_id": first.session_id}
        nothing = answered(broker, request(session_epoch=1, **again))
        assert (nothing.session_id, nothing.responses) == (first.session_id, [])
        await append(broker, 1)
        assert told(answered(broker, request(session_epoch=2, **again))) == {1: [1]}
        moved = request(("t", at(2, 1)), ("t", at(0, 2)), session_epoch=3, **again)
        assert told(answered(broker, moved)) == {2: [0]}
        forgets = request(session_epoch=4, **again)
        forgets.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[2])]
        assert told(answered(broker, forgets)) == {}
        await append(broker, 2)
        assert told(answered(broker, request(session_epoch=5, **again))) == {}


async def test_topics_are_forgotten_by_their_ids(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        topic = broker.topics.get("t")
        assert topic is not None
        asked = request(session_epoch=0)
        asked.topics = [
            FetchTopic(topic_id=topic.topic_id, partitions=[at(0, 0), at(0, 1)])
        ]
        first = answered(broker, asked, 16)
        assert told(first) == {0: [0], 1: [0]}
        assert first.responses[0].topic_id == topic.topic_id
        forgets = request(session_id=first.session_id, session_epoch=1)
        forgets.forgotten_topics_data = [
            ForgottenTopic(topic_id=topic.topic_id, partitions=[0]),
            ForgottenTopic(topic_id=b"?" * 16, partitions=[1]),
        ]
        second = answered(broker, forgets, 16)
        assert told(second) == {1: [0]}
        assert second.responses[0].topic_id == topic.topic_id


async def test_a_full_request_ends_the_session(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        asked = request(("t", at()), session_epoch=0)
        first = answered(broker, asked).session_id
        asked = request(("t", at()), session_id=first, session_epoch=0)
        second = answered(broker, asked).session_id
        assert second not in (0, first)
        asked = request(("t", at()), session_id=second, session_epoch=-1)
        final = answered(broker, asked)
        assert (final.session_id, told(final)) == (0, {0: [0, 1, 2]})
        for gone in (first, second):
            with pytest.raises(FetchSessionIdNotFound):
                handle_fetch(
                    broker.context(12), request(session_id=gone, session_epoch=1)
                )


async def test_who_asks_for_nothing_gets_no_session(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        answer = answered(broker, request(session_epoch=0))
        assert (answer.session_id, answer.responses) == (0, [])


async def test_a_session_that_forgets_everything_is_none(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        session_id = answered(broker, request(("t", at()), session_epoch=0)).session_id
        forgets = request(session_id=session_id, session_epoch=1)
        forgets.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[0])]
        answer = answered(broker, forgets)
        assert (answer.session_id, answer.responses) == (0, [])


async def test_without_room_every_request_is_full(tmp_path: Path) -> None:
    options = {"max_incremental_fetch_session_cache_slots": 0}
    async with replicas(tmp_path, **options) as broker:
        await filled(broker)
        answer = answered(broker, request(("t", at()), session_epoch=0))
        assert (answer.session_id, told(answer)) == (0, {0: [0, 1, 2]})


async def test_two_requests_of_a_session_at_once(tmp_path: Path) -> None:
    """No client does that; each is answered for what it was given all the same."""
    async with replicas(tmp_path) as broker:
        await filled(broker, batches=1, partitions=2)
        asked = request(("t", at(1, 0)), ("t", at(1, 1)), session_epoch=0)
        session_id = answered(broker, asked).session_id
        again = {"session_id": session_id, "max_wait_ms": 100}
        first = handle_fetch(broker.context(12), request(session_epoch=1, **again))
        forgets = request(session_epoch=2, **again)
        forgets.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[0])]
        second = handle_fetch(broker.context(12), forgets)
        await append(broker, 0)
        await append(broker, 1)
        assert told(fetched(first.result(), 12)) == {0: [1]}
        assert told(fetched(second.result(), 12)) == {1: [1]}


async def test_an_isolation_that_is_none_is_not_remembered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        session_id = answered(broker, request(("t", at()), session_epoch=0)).session_id
        odd = request(session_id=session_id, session_epoch=1, isolation_level=9)
        (data,) = answered(broker, odd).responses[0].partitions
        assert data.error_code == ErrorCode.INVALID_REQUEST
        again = request(session_id=session_id, session_epoch=2)
        assert told(answered(broker, again)) == {0: [0, 1, 2]}
