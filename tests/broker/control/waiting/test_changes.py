import asyncio
from pathlib import Path

from odradek.broker.control.waiting.changes import Changes
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import append
from tests.fakes.replicas import batch_of, replicas


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_watch_looks_once_a_turn_at_what_it_follows(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        changes = Changes(broker.services, [])
        looks: list[str] = []
        place = await broker.create_topic("t", 2)
        other = TopicPartition("t", 1)
        watch = changes.watch(lambda: looks.append("look"))
        watch.follow([place])
        for _ in range(3):
            append(broker, place, batch_of(b"x"))
        append(broker, other, batch_of(b"x"))
        assert looks == []  # in a turn of its own: who changes something goes on first
        await turns()
        assert looks == ["look"]
        watch.follow([other])
        append(broker, place, batch_of(b"x"))
        await turns()
        assert looks == ["look"]
        append(broker, other, batch_of(b"x"))
        await turns()
        assert looks == ["look", "look"]


async def test_who_has_ended_is_not_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        changes = Changes(broker.services, [])
        looks: list[str] = []
        place = await broker.create_topic()
        watch = changes.watch(lambda: looks.append("look"))
        watch.follow([place])
        assert (changes.count, changes.told_count) == (1, 1)
        append(broker, place, batch_of(b"x"))
        changes.end(watch)
        append(broker, place, batch_of(b"x"))
        changes.tell()
        await turns()
        assert looks == []
        assert (changes.count, changes.told_count) == (0, 0)
        # Nothing is left among the fetches that wait.
        assert broker.manager.fetches.delayed_count == 0
        assert broker.manager.fetches.watched_count == 0


async def test_all_are_told_of_topics(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        changes = Changes(broker.services, [])
        looks: list[str] = []
        changes.watch(lambda: looks.append("a"))
        changes.watch(lambda: looks.append("b"))
        await broker.create_topic()
        await turns()
        assert looks == ["a", "b"]
        await broker.topics.create_partitions({"t": 3})
        await turns()
        assert len(looks) == 4
        await broker.topics.begin_deletions([broker.topics.known("t").topic_id])
        await turns()
        assert len(looks) == 6


async def test_a_watch_outlives_the_purgatory_s_patience(tmp_path: Path) -> None:
    """A clock that a test moves by a month ends every wait of the purgatory."""
    async with replicas(tmp_path, durability="none") as broker:
        changes = Changes(broker.services, [])
        looks: list[str] = []
        place = await broker.create_topic()
        watch = changes.watch(lambda: looks.append("look"))
        watch.follow([place])
        broker.clock.advance(1 << 32)
        await turns()
        assert looks == ["look"]
        watch.follow([place])  # as whoever has looked in vain does
        append(broker, place, batch_of(b"x"))
        await turns()
        assert looks == ["look", "look"]
