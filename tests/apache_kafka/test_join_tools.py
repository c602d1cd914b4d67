"""Apache Kafka's tools, through either of the two brokers of a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import admin

from odradek.client.quotas import alter_quotas, describe_quotas
from tests.apache_kafka.both_brokers import SERVER, BothBrokers
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_join import (
    COUNT,
    OPTIONS,
    US,
    Joined,
    consumed,
    create,
    in_sync,
    produce,
)
from tests.client.live import connected, wait_until
from tests.patience import PATIENCE_S

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
THERE = ("--bootstrap-server", SERVER)
LED = 100
# What the controllers have decided is in a snapshot after some records.
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    root = tmp_path_factory.mktemp("tools")
    with running_kafka(root, OPTIONS | SNAPSHOTS) as kafka:
        made = Joined(root, kafka)
        made.ours.start()
        try:
            yield made
        finally:
            made.ours.kill()
        assert "Traceback" not in made.ours.log()


@pytest.fixture
def both(joined: Joined, java: JavaClient) -> BothBrokers:
    """One cluster, asked by way of either of its brokers."""
    return BothBrokers(java, joined.kafka, joined.ours)


@pytest.mark.long
def test_what_is_made_through_us_is_told_by_either(
    joined: Joined, both: BothBrokers
) -> None:
    topic = (*THERE, "--topic", "made")
    create = ("--create", "--replica-assignment", f"1:{US},{US}:1")
    both.java.tool(TOPICS, *_at(joined.ours, *topic, *create))
    wait_until(lambda: in_sync(joined, "made")[1] == {1, US}, PATIENCE_S)
    of_topic = ("--entity-type", "topics", "--entity-name", "made")
    change = ("--alter", "--add-config", "retention.ms=5000")
    both.java.tool(CONFIGS, *_at(joined.ours, *THERE, *of_topic, *change))
    joined.kafka.settle()
    wait_until(lambda: _retention(joined, "made") == "5000", PATIENCE_S)
    said = both.same(TOPICS, *topic, "--describe")
    assert ["retention.ms=5000" in said[0], len(said)] == [True, 3]
    both.same(CONFIGS, *THERE, *of_topic, "--describe")
    assert "made" in both.same(TOPICS, *THERE, "--list")
    both.java.tool(TOPICS, *_at(joined.ours, *topic, "--delete"))
    for broker in (joined.kafka, joined.ours):
        client = joined.admin(broker)
        wait_until(lambda client=client: "made" not in _names(client), PATIENCE_S)  # type: ignore[misc]


@pytest.mark.long
def test_what_is_changed_by_way_of_apache_kafka_holds_here(joined: Joined) -> None:
    user = {"user": "slow"}
    with connected(joined.kafka.port) as theirs, connected(joined.ours.port) as ours:
        for value, expected in ((5.0, [{"consumer_byte_rate": 5.0}]), (None, [])):
            alter_quotas(theirs, user, {"consumer_byte_rate": value})
            wait_until(
                lambda expected=expected: (  # type: ignore[misc]
                    [x.values for x in describe_quotas(ours, user)] == expected
                ),
                PATIENCE_S,
            )


@pytest.mark.long
def test_partitions_are_moved_by_the_tool_through_us(
    joined: Joined, both: BothBrokers, tmp_path: Path
) -> None:
    name = "moved"
    create(joined, name, 1)
    produce(joined.kafka, name, 0)
    plan = tmp_path / "plan.json"
    plan.write_text(
        f'{{"version":1,"partitions":[{{"topic":"{name}","partition":0,'
        f'"replicas":[{US}]}}]}}'
    )
    file = ("--reassignment-json-file", str(plan))
    both.java.tool(REASSIGN, *_at(joined.ours, *THERE, *file, "--execute"))
    wait_until(lambda: in_sync(joined, name) == (US, {US}), PATIENCE_S)
    assert f"Reassignment of partition {name}-0 is completed." in both.same(
        REASSIGN, *THERE, *file, "--verify"
    )
    produce(joined.ours, name, COUNT)
    assert consumed(joined.ours, name, 2 * COUNT) == list(range(2 * COUNT))


@pytest.mark.long
def test_what_was_removed_while_we_were_down_is_gone_by_a_snapshot(
    joined: Joined,
) -> None:
    name = "removed"
    create(joined, name, US, 1)
    produce(joined.ours, name, 0)
    assert (joined.ours.data_dir / f"{name}-0").is_dir()
    joined.ours.terminate()
    client = joined.admin(joined.kafka)
    client.delete_topics([name])[name].result(PATIENCE_S)
    before = _snapshots(joined)
    with connected(joined.kafka.port) as cluster:
        for number in range(50):
            alter_quotas(
                cluster, {"user": f"user-{number}"}, {"consumer_byte_rate": 1.0}
            )
    wait_until(lambda: _snapshots(joined) > before, PATIENCE_S)
    joined.ours.start()
    assert name not in _names(joined.admin(joined.ours))
    wait_until(lambda: not (joined.ours.data_dir / f"{name}-0").exists(), PATIENCE_S)


@pytest.mark.long
def test_who_stops_gives_away_all_that_it_leads_first(joined: Joined) -> None:
    name = "many"
    topic = admin.NewTopic(name, LED, replica_assignment=[[US, 1]] * LED)
    client = joined.admin(joined.ours)
    client.create_topics([topic])[name].result(PATIENCE_S)
    wait_until(lambda: _leaders(joined, name) == {US}, PATIENCE_S)
    wait_until(lambda: _in_sync_of_all(joined, name) == {(1, US)}, PATIENCE_S)
    produce(joined.ours, name, 0)
    joined.ours.terminate()
    assert _leaders(joined, name) == {1}
    assert "nobody takes over" not in joined.ours.log()
    joined.ours.start()
    wait_until(lambda: _in_sync_of_all(joined, name) == {(1, US)}, PATIENCE_S)


def _at(broker: Any, *words: str) -> list[str]:
    return [each.replace(SERVER, broker.address) for each in words]


def _names(client: admin.AdminClient) -> set[str]:
    return set(client.list_topics(timeout=PATIENCE_S).topics)


def _retention(joined: Joined, name: str) -> str:
    resource = admin.ConfigResource(admin.RESOURCE_TOPIC, name)
    client = joined.admin(joined.ours)
    found = client.describe_configs([resource])[resource].result(PATIENCE_S)
    value: str = found["retention.ms"].value
    return value


def _partitions(joined: Joined, name: str) -> list[Any]:
    found = joined.admin(joined.kafka).list_topics(name, timeout=PATIENCE_S)
    return list(found.topics[name].partitions.values())


def _leaders(joined: Joined, name: str) -> set[int]:
    return {each.leader for each in _partitions(joined, name)}


def _in_sync_of_all(joined: Joined, name: str) -> set[tuple[int, ...]]:
    return {tuple(sorted(each.isrs)) for each in _partitions(joined, name)}


def _snapshots(joined: Joined) -> list[str]:
    """Their names begin with the offset at which they end."""
    folder = joined.kafka.data_dir / "__cluster_metadata-0"
    return sorted(each.name for each in folder.glob("*.checkpoint"))[-1:]
