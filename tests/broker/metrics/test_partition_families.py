from pathlib import Path

from tests.broker.metrics.served import HTTP, scraped
from tests.broker.test_server import create_topic, produce, running, with_client


async def test_what_was_appended_is_counted(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        for _ in range(3):
            await with_client(server, produce)
        found = await scraped(server)
    assert found["kafka_topic_partitions"]["t",] == 1
    assert found["kafka_topic_partition_current_offset"]["t", "0"] == 3
    assert found["kafka_log_log_logendoffset"]["t", "0"] == 3
    assert found["kafka_log_log_size"]["t", "0"] > 3 * 61
    assert found["odradek_partition_undurable_offsets"]["t", "0"] == 0
    messages = found["kafka_server_brokertopicmetrics_messagesin_total"]
    assert messages == {("t",): 3, (): 3}
    size = found["kafka_server_brokertopicmetrics_bytesin_total"]["t",]
    assert size == found["kafka_log_log_size"]["t", "0"]


async def test_what_was_there_before_the_start_is_not_counted(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, produce)
        found = await scraped(server)
    assert found["kafka_topic_partition_current_offset"]["t", "0"] == 2
    assert found["kafka_server_brokertopicmetrics_messagesin_total"]["t",] == 1


async def test_a_partition_that_was_never_written_is_empty(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        found = await scraped(server)
    assert found["kafka_topic_partition_current_offset"] == {("t", "0"): 0}
    assert "kafka_log_log_size" not in found
