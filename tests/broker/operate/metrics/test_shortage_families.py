from pathlib import Path

from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS, INTERNAL_TOPICS
from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.broker.operate.metrics.served import HTTP, commit, get, scraped


async def test_a_full_disk_is_told_on_the_pages_until_it_is_over(
    tmp_path: Path,
) -> None:
    directory = (str(tmp_path),)
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        await with_client(server, commit)
        found = await scraped(server)
        assert found["odradek_directory_full"] == {directory: 0}
        assert found["odradek_unrecorded_partitions"] == {(): 0}
        topics = {(topic,): 0 for topic in INTERNAL_TOPICS}
        assert found["odradek_coordinators_without_room"] == topics
        assert found["odradek_no_room_total"] == {("log",): 0, ("catalogue",): 0}
        shortage, appends = server.services.shortage, server.services.replica_manager
        measure, shortage._measure = shortage._measure, lambda _: 0
        appends.appends.no_room_count += 1
        await shortage.look()
        found = await scraped(server)
        assert found["odradek_directory_full"] == {directory: 1}
        assert found["odradek_coordinators_without_room"][CONSUMER_OFFSETS,] > 0
        assert found["odradek_no_room_total"]["log",] == 1
        status, text = await get(server, "/readyz")
        assert status == 503
        assert text.startswith(f"{tmp_path} has no room")
        shortage._measure = measure
        await shortage.look()
        assert (await scraped(server))["odradek_directory_full"] == {directory: 0}
        assert (await get(server, "/readyz"))[0] == 200
