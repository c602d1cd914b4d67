from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.registration.heartbeats import Heartbeats
from odradek.broker.operate.metrics.cluster_families import cluster_families
from odradek.broker.operate.metrics.exposition import exposition
from tests.broker.operate.metrics.served import Samples, read
from tests.fakes.clock import FakeClock

NOW_MS = 1_700_000_000_000


def told(services: Any) -> Samples:
    return read("".join(map(exposition, cluster_families(services))))


def services(cluster: Any) -> Any:
    topics = [SimpleNamespace(partitions=[0, 1]), SimpleNamespace(partitions=[0])]

    class Topics(list[Any]):
        offline = frozenset({"one"})

    return SimpleNamespace(
        metadata=Topics(topics), cluster=cluster, clock=FakeClock(NOW_MS)
    )


def test_a_broker_alone_is_its_own_controller() -> None:
    found = told(services(None))
    assert found["kafka_brokers"][()] == 1
    assert found["kafka_controller_kafkacontroller_activecontrollercount"][()] == 1
    assert found["kafka_controller_kafkacontroller_globalpartitioncount"][()] == 3
    assert found["kafka_controller_kafkacontroller_globaltopiccount"][()] == 2
    assert found["kafka_controller_kafkacontroller_offlinepartitionscount"][()] == 1
    assert not [name for name in found if "metadata" in name or "heart" in name]


def test_a_broker_of_a_cluster_tells_how_it_follows() -> None:
    heartbeats = Heartbeats(2_000)
    member = SimpleNamespace(
        image=SimpleNamespace(offset=77),
        applied_timestamp_ms=NOW_MS - 450,
        why_unread="nobody leads",
        why_stale="",
        membership=SimpleNamespace(is_fenced=True, failed_count=3),
        heartbeats=heartbeats,
    )
    standing = SimpleNamespace(state=2, member=member)
    throttles = SimpleNamespace(
        leader=SimpleNamespace(copied=SimpleNamespace(count=9, of_moves=4)),
        follower=SimpleNamespace(copied=SimpleNamespace(count=8, of_moves=5)),
    )
    asked = services(
        SimpleNamespace(alive_count=2, standing=standing, throttles=throttles)
    )
    heartbeats.note_answer(asked.clock.monotonic_ms() - 9_000)
    heartbeats.note_answer(asked.clock.monotonic_ms() - 1_500)
    found = told(asked)
    values = {
        name: value for name, by_labels in found.items() for value in by_labels.values()
    }
    assert values == {
        "kafka_brokers": 2,
        "kafka_server_kafkaserver_brokerstate": 2,
        "kafka_server_broker_metadata_metrics_last_applied_record_offset": 77,
        "kafka_server_broker_metadata_metrics_last_applied_record_lag_ms": 450,
        "odradek_metadata_log_unread": 1,
        "odradek_metadata_log_unapplied": 0,
        "odradek_fenced": 1,
        "odradek_heartbeat_age_seconds": 1.5,
        "odradek_heartbeats_failed_total": 3,
        "odradek_heartbeats_late_total": 1,
        "kafka_server_brokertopicmetrics_replicationbytesin_total": 8,
        "kafka_server_brokertopicmetrics_replicationbytesout_total": 9,
        "kafka_server_brokertopicmetrics_reassignmentbytesin_total": 5,
        "kafka_server_brokertopicmetrics_reassignmentbytesout_total": 4,
    }
