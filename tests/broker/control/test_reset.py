from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odradek.broker.control.reset import reset_requests
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import answer, append, commit, refused
from tests.fakes.replicas import batch_of, replicas


async def test_topics_groups_and_what_others_keep_are_gone(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        services = broker.services
        for name in ("a", "b"):
            append(broker, await broker.create_topic(name), batch_of(b"x"))
        services.groups.load_all()
        services.transactions.load_all()
        await services.groups.create_topic()
        await services.transactions.create_topic()
        commit(broker, "g", TopicPartition("a", 0), 1)
        told: list[str] = []
        server: Any = SimpleNamespace(
            services=services, on_reset=[lambda: told.append("rules")]
        )
        requests = reset_requests(server)
        assert await answer(requests, "reset") == [{"topics": 4}]
        assert list(broker.topics) == []
        assert list(services.groups.runtime.shards()) == []
        assert told == ["rules"]
        assert not [path for path in broker.files.paths() if path.suffix == ".log"]
        # And it begins anew.
        await services.groups.create_topic()
        (shard,) = [services.groups.runtime.shard(0)]
        assert shard.state.groups == {}
        assert "'topic' is not a field" in await refused(requests, "reset", topic="a")
