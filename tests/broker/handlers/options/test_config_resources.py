from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.config_resources import ListConfigResourcesRequest
from tests.fakes.topics import topic_broker

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


async def test_what_has_options_is_listed(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:

        async def listed(*kinds: int, version: int = 1) -> list[tuple[str, int]]:
            request = ListConfigResourcesRequest(resource_types=list(kinds))
            answer: Any = await broker.ask(request, version)
            found = answer.config_resources
            return [(each.resource_name, each.resource_type) for each in found]

        await broker.topics.create_topic("t", 1)
        for kind, name in (
            (ResourceKind.GROUP, "g"),
            (ResourceKind.CLIENT_METRICS, "m"),
        ):
            resource = Resource(kind, name)
            await broker.services.resources.alter(resource, lambda _: {"a": "b"})
        everything = [
            ("g", GROUP),
            ("m", METRICS),
            ("1", LOGGER),
            ("1", BROKER),
            ("t", TOPIC),
        ]
        assert await listed() == everything
        assert await listed(TOPIC, GROUP, TOPIC) == [("g", GROUP), ("t", TOPIC)]
        assert await listed(version=0) == [("m", METRICS)]
        with pytest.raises(UnsupportedVersion):
            await listed(3)


async def test_all_brokers_of_a_cluster_are_listed(tmp_path: Path) -> None:
    class TwoBrokers:
        def brokers(self, listener_name: str) -> list[tuple[int, str, int, None]]:
            return [(1, "a", 9092, None), (7, "b", 9092, None)]

    async with topic_broker(tmp_path) as broker:
        services: Any = broker.services
        services.cluster = TwoBrokers()
        request = ListConfigResourcesRequest(resource_types=[BROKER])
        answer: Any = await broker.ask(request, 1)
        assert [each.resource_name for each in answer.config_resources] == ["1", "7"]
