import asyncio
from pathlib import Path

import pytest

from odradek.broker.operate.metrics import scrape
from odradek.broker.operate.metrics.scrape import Turns
from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.broker.operate.metrics.served import HTTP, commit, scraped


async def test_turns_of_any_size_tell_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        await with_client(server, commit)
        whole = await scraped(server)
        monkeypatch.setattr(scrape, "TURN_SIZE", 1)
        in_turns = await scraped(server)
    # Time has passed, so that values of the process differ: the names do not.
    assert list(whole) == list(in_turns)
    for name in ("kafka_log_log_size", "kafka_consumergroup_lag"):
        assert whole[name] == in_turns[name]


async def test_others_are_served_after_each_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scrape, "TURN_SIZE", 5)
    seen: list[int] = []

    async def serve() -> None:
        while True:
            seen.append(done)
            await asyncio.sleep(0)

    done = 0
    other = asyncio.ensure_future(serve())
    turns = Turns()
    for done in range(1, 13):  # noqa: B007  (`serve` looks at it)
        await turns.did()
    await turns.did(3)
    other.cancel()
    assert seen == [5, 10, 12]
