"""kafka-configs.sh on both brokers."""

import pytest

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

TOOL = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
THERE = ("--bootstrap-server", SERVER)
BROKER = ("--entity-type", "brokers", "--entity-name", "1")
BROKERS = ("--entity-type", "brokers", "--entity-default")
LOGGERS = ("--entity-type", "broker-loggers", "--entity-name", "1")
GROUP = ("--entity-type", "groups", "--entity-name", "configured")
USER = ("--entity-type", "users", "--entity-name", "u")
CLIENT_OF_USER = (*USER, "--entity-type", "clients", "--entity-name", "c")
METRICS = ("--entity-type", "client-metrics", "--entity-name", "m")


class Configs:
    """The tool, and what it can do to an entity."""

    def __init__(self, both: BothBrokers) -> None:
        self.both = both

    def shown(self, *entity: str) -> list[str]:
        """What both show, the same."""
        kafka, ours = self.both.run(TOOL, *THERE, *entity, "--describe")
        assert not kafka.failed
        assert ours.lines == kafka.lines
        return ours.lines

    def add(self, *entity_and_values: str) -> None:
        """Set options: the last argument."""
        *entity, values = entity_and_values
        alter = ("--alter", "--add-config", values)
        self.both.same(TOOL, *THERE, *entity, *alter)

    def delete(self, *entity_and_names: str) -> None:
        """Delete options: the last argument."""
        *entity, names = entity_and_names
        alter = ("--alter", "--delete-config", names)
        self.both.same(TOOL, *THERE, *entity, *alter)

    def refuse(self, *entity_and_values: str) -> str:
        """Both refuse to set options, with the same words."""
        *entity, values = entity_and_values
        alter = ("--alter", "--add-config", values)
        return self.both.both_fail(TOOL, *THERE, *entity, *alter)


@pytest.fixture
def configs(both: BothBrokers) -> Configs:
    return Configs(both)


def test_options_of_topics(configs: Configs) -> None:
    entity = ("--entity-type", "topics", "--entity-name", "configured")
    create = ("--create", "--topic", "configured", "--config", "retention.ms=5000")
    configs.both.same(TOPICS, *THERE, *create)
    assert any("retention.ms=5000" in line for line in configs.shown(*entity))
    assert len(configs.shown(*entity, "--all")) > 30
    configs.add(*entity, "cleanup.policy=[compact,delete],segment.ms=100000")
    configs.delete(*entity, "retention.ms")
    shown = "\n".join(configs.shown(*entity))
    assert "cleanup.policy=compact,delete" in shown
    assert "retention.ms" not in shown
    assert "Unknown topic config name: nope" in configs.refuse(*entity, "nope=1")
    configs.refuse(*entity, "segment.bytes=x")


def test_options_of_brokers_change_while_they_run(configs: Configs) -> None:
    configs.add(*BROKER, "log.retention.ms=60000,log.cleaner.threads=2")
    configs.add(*BROKERS, "log.retention.ms=70000")
    mine = "log.retention.ms=60000"
    assert any(mine in line for line in configs.shown(*BROKER))
    assert any("log.retention.ms=70000" in line for line in configs.shown(*BROKERS))
    refused = configs.refuse(*BROKER, "num.partitions=3")
    assert "Cannot update these configs dynamically: [num.partitions]" in refused
    configs.refuse(*BROKER, "log.segment.bytes=3")
    configs.delete(*BROKER, "log.retention.ms,log.cleaner.threads")
    configs.delete(*BROKERS, "log.retention.ms")
    assert not any(mine in line for line in configs.shown(*BROKER))


def test_the_least_number_in_sync_is_set_for_all_brokers(configs: Configs) -> None:
    name = "min.insync.replicas"
    assert any(f"{name}=1" in line for line in configs.shown(*BROKERS))
    configs.add(*BROKERS, f"{name}=1")
    for change in (
        (*BROKERS, "--alter", "--delete-config", name),
        (*BROKER, "--alter", "--add-config", f"{name}=1"),
    ):
        for printed in configs.both.run(TOOL, *THERE, *change):
            assert printed.failed
            assert "InvalidConfigurationException" in "".join(printed.lines)


def test_levels_of_loggers(configs: Configs) -> None:
    kafka, ours = configs.both.run(TOOL, *THERE, *LOGGERS, "--describe")
    root = "  root=INFO sensitive=false synonyms={}"
    assert root in kafka.lines
    assert root in ours.lines
    configs.add(*LOGGERS, "root=WARN")
    _, ours = configs.both.run(TOOL, *THERE, *LOGGERS, "--describe")
    assert root.replace("INFO", "WARN") in ours.lines
    configs.add(*LOGGERS, "root=INFO")
    configs.refuse(*LOGGERS, "no.such=INFO")


def test_quotas(configs: Configs) -> None:
    configs.add(*USER, "producer_byte_rate=1000,consumer_byte_rate=2000")
    configs.add(*CLIENT_OF_USER, "producer_byte_rate=5")
    configs.add(
        "--entity-type", "clients", "--entity-default", "request_percentage=200"
    )
    address = ("--entity-type", "ips", "--entity-name", "127.0.0.9")
    configs.add(*address, "connection_creation_rate=100")
    for entity in (
        ("--entity-type", "ips"),
        ("--entity-type", "clients"),
        USER,
        (*USER, "--entity-type", "clients"),
    ):
        assert configs.shown(*entity)
    configs.delete(*USER, "producer_byte_rate,consumer_byte_rate")
    configs.delete(*CLIENT_OF_USER, "producer_byte_rate")
    default = ("--entity-type", "clients", "--entity-default")
    configs.delete(*default, "request_percentage")
    configs.delete(*address, "connection_creation_rate")
    assert configs.shown("--entity-type", "clients") == []


def test_credentials(configs: Configs) -> None:
    entity = ("--entity-type", "users", "--entity-name", "alice")
    configs.add(*entity, "SCRAM-SHA-256=[iterations=8192,password=alice-secret]")
    [shown] = configs.shown(*entity)
    assert "SCRAM-SHA-256=iterations=8192" in shown
    configs.delete(*entity, "SCRAM-SHA-256")
    assert configs.shown(*entity) == []


def test_options_of_groups_and_subscriptions(configs: Configs) -> None:
    configs.add(*GROUP, "consumer.session.timeout.ms=50000")
    assert any("50000" in line for line in configs.shown(*GROUP))
    configs.refuse(*GROUP, "consumer.session.timeout.ms=5")
    configs.add(*METRICS, "interval.ms=1000,metrics=[a,b],match=[client_id=nobody]")
    assert len(configs.shown(*METRICS)) == 4
    configs.delete(*METRICS, "interval.ms,metrics,match")
