from pathlib import Path

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.network.admission import Admission
from odradek.broker.node.jobs import CLEANING_JOB, make_cleaning
from odradek.broker.node.reconfiguration import follow_changes, follow_cleaning_changes
from odradek.broker.runtime.clock import SystemClock
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
    describe_configs,
)
from odradek.protocol.errors import MessageTooLarge
from tests.broker_process import running_broker
from tests.client.live import connected, create_topic, produce
from tests.fakes.replicas import batch_of, replicas


async def test_logs_and_admission_follow_the_options(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        admission = Admission(broker.config, SystemClock())
        follow_changes(broker.services, admission)
        place = await broker.create_topic("a", segment_ms="7")
        other = await broker.create_topic("b", retention_ms="8")
        for each in (place, other):
            broker.manager.append_records({each: batch_of(b"x")}, acks=1, timeout_ms=0)
        broker.services.live.change(
            {
                "log.retention.ms": "1234",
                "log.roll.ms": "99",
                "max.connections": "0",
                "producer.id.expiration.ms": "55",
                "transaction.partition.verification.enable": "false",
            },
            {},
        )
        log, other_log = broker.logs.get(place), broker.logs.get(other)
        assert log is not None
        assert other_log is not None
        assert (log.config.retention_ms, log.config.segment_ms) == (1234, 7)
        assert (other_log.config.retention_ms, other_log.config.segment_ms) == (8, 99)
        assert log.producers.expiration_ms == 55
        assert not log.producers.verifies
        refusal = admission.refusal("127.0.0.1")
        assert refusal is not None
        assert refusal.limit == "max.connections"
        later = await broker.create_topic("c")
        assert broker.manager.partition(later).config.retention_ms == 1234
        broker.services.live.change({}, {})
        assert log.config.retention_ms == BrokerConfig().retention_ms


async def test_compaction_follows_the_options(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        services = broker.services
        cleaning = make_cleaning(services, broker.files)
        services.scheduler.every(15_000, CLEANING_JOB, lambda: None)
        follow_cleaning_changes(services, cleaning)
        services.live.change(
            {"log.cleaner.threads": "3", "log.cleaner.backoff.ms": "5"}, {}
        )
        assert cleaning.limits.rounds_max == 3
        assert services.scheduler.interval_of(CLEANING_JOB) == 5
        await services.scheduler.stop()


def test_a_change_holds_at_once_and_after_a_kill(tmp_path: Path) -> None:
    of_all = ConfigResource(ConfigResourceType.BROKER, "")
    of_one = ConfigResource(ConfigResourceType.BROKER, "1")
    of_group = ConfigResource(ConfigResourceType.GROUP, "g")
    option = "message.max.bytes"

    def check(port: int) -> None:
        with connected(port) as cluster:
            produce(cluster, "t", 0, range(1))
            with pytest.raises(MessageTooLarge):
                produce(cluster, "t", 0, range(100))
            [shown] = describe_configs(cluster, of_one, [option])
            assert (shown.value, shown.source) == ("200", "DYNAMIC_BROKER_CONFIG")
            assert [each.value for each in shown.synonyms] == ["200", "99", "1048588"]
            found = describe_configs(cluster, of_group, ["share.isolation.level"])
            assert found[0].value == "read_committed"

    with running_broker(tmp_path / "data") as process:
        with connected(process.port) as cluster:
            create_topic(cluster, "t", 1)
            produce(cluster, "t", 0, range(100))
            alter_configs(cluster, of_all, [ConfigChange(Operation.SET, option, "99")])
            alter_configs(cluster, of_one, [ConfigChange(Operation.SET, option, "200")])
            name, value = "share.isolation.level", "read_committed"
            change = ConfigChange(Operation.SET, name, value)
            alter_configs(cluster, of_group, [change])
        check(process.port)
        process.kill()
        process.start()
        check(process.port)
        with connected(process.port) as cluster:
            for resource in (of_all, of_one):
                change = ConfigChange(Operation.DELETE, option)
                alter_configs(cluster, resource, [change])
            produce(cluster, "t", 0, range(100))
        assert "Traceback" not in process.log()
