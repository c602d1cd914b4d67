"""Which frames are meant."""

from pathlib import Path

import pytest

from odradek.broker.operate.tracing.wanted import API_OF, Wanted, topics_of
from odradek.broker.replica.fetch_sessions import FetchSession
from odradek.broker.replica.partition.fetch_reader import PartitionFetch
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.produce import ProduceRequest, TopicProduceData
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.traced import commit, fetch, produce, traced


@pytest.mark.parametrize(
    ("frame", "what", "filters", "is_meant"),
    [
        (produce(), "produce", {}, True),
        (produce(), "fetch", {}, False),
        (produce(), "produce", {"topic": "t", "client_id": "client"}, True),
        (produce(), "produce", {"topic": "u"}, False),
        (produce(topic="u"), "produce", {"topic": "u"}, True),
        (produce(), "produce", {"client_id": "other"}, False),
        (produce(), "produce", {"group": "g"}, False),
        (fetch(0), "fetch", {"topic": "t"}, True),
        (commit("g"), "commit", {"group": "g", "topic": "t"}, True),
        (commit("g"), "commit", {"group": "h"}, False),
        (b"\0\0\0\1\0", "produce", {}, False),
        (b"\0\0\0\4\0\0\0\x0c", "produce", {}, False),
        (b"\0\0\0\4\0\0\x7f\xff", "produce", {}, False),
        (produce()[:-40], "produce", {}, False),
    ],
)
async def test_by_api_and_by_what_it_says(
    tmp_path: Path, frame: bytes, what: str, filters: dict[str, str], is_meant: bool
) -> None:
    async with traced(tmp_path) as broker:
        wanted = Wanted(API_OF[what], **filters)
        services = broker.broker.services
        given = memoryview(frame)[4:]
        assert wanted.is_meant(given, broker.dispatcher, services) is is_meant


async def test_topics_are_known_by_their_ids(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        services = broker.broker.services
        topic = services.metadata.get("t")
        assert topic is not None
        asked = [
            TopicProduceData(name="", topic_id=topic.topic_id),
            TopicProduceData(name="", topic_id=b"?" * 16),
        ]
        assert topics_of(ProduceRequest(topic_data=asked), services) == {"t", ""}


async def test_a_session_knows_what_its_requests_do_not_say(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        services, key = broker.broker.services, TopicPartition("t", 0)
        session = FetchSession({key: PartitionFetch(key, 0, 1)}, {}, 0)
        assert services.fetch_sessions.open(session)
        request = FetchRequest(session_id=session.session_id, session_epoch=1)
        assert topics_of(request, services) == {"t"}
        request.session_id += 1
        assert topics_of(request, services) == set()
