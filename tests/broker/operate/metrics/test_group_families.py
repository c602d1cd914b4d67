from pathlib import Path

from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.broker.operate.metrics.served import GROUP, HTTP, commit, scraped


async def test_lag_is_what_lies_behind_the_committed_offset(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        for _ in range(3):
            await with_client(server, produce)
        await with_client(server, commit)
        found = await scraped(server)
    assert found["kafka_consumergroup_members"] == {(GROUP,): 0}
    assert found["kafka_consumergroup_current_offset"] == {(GROUP, "t", "0"): 1}
    assert found["kafka_consumergroup_lag"] == {(GROUP, "t", "0"): 2}
    assert found["kafka_consumergroup_lag_sum"] == {(GROUP, "t"): 2}
