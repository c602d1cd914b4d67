from pathlib import Path

from odradek.broker.control.topics import topic_requests
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import answer, append, refused
from tests.fakes.replicas import batch_of, replicas


async def test_topics_are_made_and_deleted_with_their_files(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = topic_requests(broker.services)
        wanted = {"name": "t", "partitions": 2, "config": {"retention.ms": 5}}
        made = await answer(requests, "topics.create", topics=[wanted, {"name": "u"}])
        assert made == [
            {"topic": "t", "partitions": 2},
            {"topic": "u", "partitions": 1},
        ]
        assert broker.topics.known("t").options == {"retention.ms": "5"}
        append(broker, TopicPartition("t", 1), batch_of(b"x"))
        broker.services.groups.load_all()
        assert await answer(requests, "topics.delete", topics=["t"]) == [{"topic": "t"}]
        assert not [path for path in broker.files.paths() if path.suffix == ".log"]
        assert not broker.topics.deletions


async def test_what_cannot_be_made_or_deleted_is_refused(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        requests = topic_requests(broker.services)
        await broker.create_topic("orders")

        async def create(**wanted: object) -> str:
            return await refused(requests, "topics.create", topics=[wanted])

        assert "TOPIC_ALREADY_EXISTS" in await create(name="orders")
        assert "INVALID_TOPIC" in await create(name="a b")
        assert "INVALID_CONFIG" in await create(name="t", config={"x": "y"})
        assert "partitions is 0" in await create(name="t", partitions=0)
        assert "did you mean partitions?" in await create(name="t", partition=3)
        assert "objects with a name" in await refused(
            requests, "topics.create", topics=["t"]
        )
        assert await refused(requests, "topics.delete", topics=["order"]) == (
            "UNKNOWN_TOPIC_OR_PARTITION: there is no topic order; did you mean orders?"
        )
        assert len(broker.topics) == 1
