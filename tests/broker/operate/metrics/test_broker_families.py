import json
import re
from pathlib import Path

import pytest

from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import COMPRESSION_ZSTD
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import StorageFailure
from odradek.storage.values.log_read import FetchIsolation
from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.broker.operate.metrics.served import HTTP, commit, scraped

ROOT = Path(__file__).parents[4]


async def test_requests_and_syncs_are_counted(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        for _ in range(17):
            await with_client(server, produce)
        found = await scraped(server)
    requests = found["kafka_network_requestmetrics_requests_total"]
    assert sum(v for (api, _), v in requests.items() if api == "Produce") == 17
    # The first of 16 is timed.
    times = found["kafka_network_requestmetrics_totaltimems_count"]
    assert times["Produce",] == 2
    assert found["odradek_sync_seconds_count"][str(tmp_path),] >= 1
    assert found["odradek_bugs_total"][()] == 0
    assert found["kafka_controller_kafkacontroller_globaltopiccount"][()] == 1


async def test_who_waits_is_told_beside_what_is_watched(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        manager = server.services.replica_manager
        params = FetchParams(FetchIsolation.HIGH_WATERMARK, 60_000, 1, 1 << 20)
        place = TopicPartition("t", 0)
        same = [PartitionFetch(place, 0, 1 << 20)]
        kinds = "Produce", "Fetch", "DeleteRecords", "ShareFetch", "VisibleEnd"
        nobody = {(kind,): 0.0 for kind in kinds}
        waiting = [manager.fetch_records(params, same) for _ in range(3)]
        found = await scraped(server)
        delayed = found["kafka_server_delayedoperationpurgatory_numdelayedoperations"]
        assert {**nobody, ("Fetch",): 3} == delayed
        watched = found["kafka_server_delayedoperationpurgatory_purgatorysize"]
        assert {**nobody, ("Fetch",): 1} == watched
        await with_client(server, produce)
        for each in waiting:
            await each


async def test_limits_that_were_reached_are_counted(tmp_path: Path) -> None:
    options = {"request_decompressed_max_bytes": 1024, "max_connections": 1}

    def ask_too_much(connection: Connection, port: int) -> None:
        create_topic(connection)
        record = NewRecord(b"k", bytes(2000), 1)
        batch = build_batch([record], compression=COMPRESSION_ZSTD)
        data = PartitionProduceData(index=0, records=bytes(batch))
        request = ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=[data])],
        )
        answer = connection.request(request, ProduceResponse, 9)
        (partition,) = answer.responses[0].partition_responses
        assert partition.error_code == ErrorCode.MESSAGE_TOO_LARGE
        with pytest.raises(ConnectionError):
            Connection("127.0.0.1", port)

    async with running(tmp_path, http_listener=HTTP, **options) as server:
        port = server.listeners[0].port
        await with_client(server, lambda found: ask_too_much(found, port))
        found = await scraped(server)
    assert found["odradek_limit_hits_total"] == {
        ("max.connections",): 1,
        ("request.decompressed.max.bytes",): 1,
    }


async def test_a_failed_directory_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        committer = server.services.committer.for_directory(tmp_path)
        committer.fail(StorageFailure("fdatasync: EIO"))
        found = await scraped(server)
    assert found["odradek_log_directory_failed"] == {(str(tmp_path),): 1}
    assert found["odradek_stray_directories"] == {(str(tmp_path),): 0}
    assert found["kafka_log_logmanager_offlinelogdirectorycount"][()] == 1


async def test_every_metric_is_in_the_manual_and_the_dashboard_shows_what_is_there(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        await with_client(server, commit)
        names = set(await scraped(server))
    manual = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    suffix = re.compile("_(bucket|sum|count)$")
    for name in names:
        assert f"`{name}`" in manual or f"`{suffix.sub('', name)}`" in manual, name
    dashboard = json.loads((ROOT / "config/dashboard.json").read_text())
    shown = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:kafka|odradek|process)_\w+", target["expr"])
    }
    seldom = {"odradek_partition_quarantined_batches", "odradek_limit_hits_total"}
    in_a_cluster = {
        "kafka_server_replicafetchermanager_maxlag",
        "kafka_server_broker_metadata_metrics_last_applied_record_lag_ms",
        "odradek_fenced",
        "odradek_heartbeat_age_seconds",
        "odradek_heartbeats_late_total",
        "odradek_replica_troubled_partitions",
    }
    assert all(f"`{name}`" in manual for name in in_a_cluster)
    assert shown <= names | seldom | in_a_cluster
