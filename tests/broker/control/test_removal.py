import gc
import os
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.control.removal import remove_topics
from odradek.broker.control.server import ControlledServer
from odradek.broker.operate.admin_socket import AdminError
from tests.broker.control.asked import answer, append
from tests.broker.control.served import controlled
from tests.fakes.replicas import batch_of, replicas

# Tails of logs that are gone are forgotten when there are 64 of them.
TOPIC_COUNT = 100


async def test_files_go_before_it_returns_and_nothing_is_left_to_do(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        append(broker, place, batch_of(b"x"))
        broker.services.groups.load_all()
        topic_id = broker.topics.known("t").topic_id
        await remove_topics(broker.services, [topic_id])
        assert not [path for path in broker.files.paths() if path.suffix == ".log"]
        assert not broker.topics.deletions
        assert await broker.create_topic() == place  # its name is free


async def test_topics_of_a_cluster_are_not_deleted_here(tmp_path: Path) -> None:
    async with controlled(tmp_path) as server:
        requests = server.admin_requests()
        await answer(requests, "topics.create", topics=[{"name": "t"}])
        server.services.cluster = cast("Any", object())
        for name, fields in (("topics.delete", {"topics": ["t"]}), ("reset", {})):
            with pytest.raises(AdminError, match="deleted by its controllers"):
                await answer(requests, name, **fields)
        server.services.cluster = None
        assert server.services.metadata.get("t") is not None


def our_objects() -> Counter[str]:
    """How many there are of each of our own types."""
    gc.collect()
    types = [type(each) for each in gc.get_objects()]
    ours = [each for each in types if str(each.__module__).startswith("odradek.")]
    return Counter(each.__qualname__ for each in ours)


async def come_and_go(server: ControlledServer, prefix: str, count: int) -> None:
    """Topics are made, written to, deleted; then all that waits for a time is done."""
    requests = server.admin_requests()
    for number in range(count):
        name = f"{prefix}-{number}"
        await answer(requests, "topics.create", topics=[{"name": name}])
        record = {"value": "x"}
        await answer(requests, "records.append", topic=name, records=[record])
        await answer(requests, "topics.delete", topics=[name])
    await answer(requests, "clock.advance", ms=120_000)


async def test_no_object_and_no_open_file_stays_of_each(tmp_path: Path) -> None:
    """T313, counted: what is left of memory after it is the allocator's."""
    async with controlled(tmp_path) as server:
        await come_and_go(server, "first", 1)
        objects, open_count = our_objects(), len(os.listdir("/proc/self/fd"))
        await come_and_go(server, "more", TOPIC_COUNT)
        left = our_objects() - objects
        assert max(left.values(), default=0) < TOPIC_COUNT, left
        assert len(os.listdir("/proc/self/fd")) < open_count + TOPIC_COUNT
