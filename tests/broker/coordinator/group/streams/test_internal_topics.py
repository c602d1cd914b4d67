import asyncio
from pathlib import Path

from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
from odradek.broker.coordinator.group.streams.internal_topics import InternalTopics
from odradek.broker.metadata.topic import NewTopic
from tests.fakes.clock import FakeClock
from tests.fakes.topics import topic_broker

COMPACT = (("cleanup.policy", "compact"),)


async def test_topics_are_made_with_what_is_asked_for(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        services, made = broker.services, list[NewTopic]()
        internal = InternalTopics(
            services.metadata, FakeClock(), lambda: services.config
        )
        wanted = [InternalTopic("store", 3, 0, COMPACT), InternalTopic("again", 2)]
        internal.make(wanted, 1000, made.extend)
        internal.make(wanted, 1000, made.extend)
        await internal.close()
        assert [(each.name, each.partition_count) for each in made] == [
            ("store", 3),
            ("again", 2),
        ]
        store = services.metadata.get("store")
        assert store is not None
        assert store.options["cleanup.policy"] == "compact"
        assert internal.refusals(wanted) == {}


async def test_why_one_is_not_made_is_told_for_a_while(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        services, clock, made = broker.services, FakeClock(), list[NewTopic]()
        internal = InternalTopics(services.metadata, clock, lambda: services.config)
        wanted = [
            InternalTopic("far", 1, 3),
            InternalTopic("odd", 1, 0, (("no.option", "1"),)),
            InternalTopic("wide", 1_000_000),
            InternalTopic("good", 1),
        ]
        internal.make(wanted, 1000, made.extend)
        await internal.close()
        assert [each.name for each in made] == ["good"]
        told = internal.refusals(wanted)
        assert list(told) == ["far", "odd", "wide"]
        assert "Unable to replicate the partition 3 time(s)" in told["far"]
        assert "no.option" in told["odd"]
        assert "create.topics.max.partitions" in told["wide"]
        clock.advance(1000)
        assert internal.refusals(wanted) == {}


async def test_who_finds_it_made_is_content(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        services, made = broker.services, list[NewTopic]()
        await services.metadata.create_topic("store", 1)
        internal = InternalTopics(
            services.metadata, FakeClock(), lambda: services.config
        )
        wanted = [InternalTopic("store", 1)]
        internal.make(wanted, 1000, made.extend)
        await asyncio.sleep(0)
        await internal.close()
        assert (made, internal.refusals(wanted)) == ([], {})
