from pathlib import Path

from odradek.storage.files.files import StorageFailure
from tests.broker.node.test_server import running
from tests.broker.operate.metrics.served import HTTP, get


async def test_ready_means_that_records_are_taken(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        assert await get(server, "/livez") == (200, "ok\n")
        assert await get(server, "/readyz") == (200, "ready\n")
        committer = server.services.committer.for_directory(tmp_path)
        committer.fail(StorageFailure("fdatasync: EIO"))
        status, text = await get(server, "/readyz")
        assert status == 503
        assert text == f"{tmp_path} takes no writes: fdatasync: EIO\n"
        assert await get(server, "/livez") == (200, "ok\n")


async def test_metrics_come_in_the_format_of_prometheus(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        status, text = await get(server, "/metrics")
    assert status == 200
    assert "# TYPE kafka_brokers gauge\nkafka_brokers 1\n" in text
