from pathlib import Path

import pytest

from broker.metrics import scrape
from tests.broker.metrics.served import HTTP, commit, scraped
from tests.broker.test_server import create_topic, produce, running, with_client


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
