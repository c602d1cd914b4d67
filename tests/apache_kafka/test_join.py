"""odradek as a broker of Apache Kafka's cluster, beside a broker that is Kafka's."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition, admin

from tests.apache_kafka.jars import run_tool
from tests.apache_kafka.node import CLUSTER_ID, KafkaNode, running_kafka
from tests.broker_process import BrokerProcess
from tests.client.live import wait_until
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.sampling import sampled, sampled_rows

US = 2
BY_RACK = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
OPTIONS = {
    "offsets.topic.num.partitions": "1",
    # One that was killed is away sooner; one that lives has many tries until then.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
    "broker.rack": "theirs",
    "replica.selector.class": BY_RACK,
}
COUNT = 200


class Joined:
    """A node of Kafka's, broker and controller, and odradek as the second broker."""

    def __init__(self, root: Path, kafka: KafkaNode) -> None:
        self.kafka = kafka
        self.ours = self.broker(root / "data")

    def broker(self, data_dir: Path, **changed: str) -> BrokerProcess:
        """One that has not been started yet."""
        options = {
            "process.roles": "broker",
            "node.id": str(US),
            "broker.rack": "ours",
            "replica.selector.class": BY_RACK,
            "cluster.id": CLUSTER_ID,
            "offsets.topic.replication.factor": "1",
            "broker.heartbeat.interval.ms": OPTIONS["broker.heartbeat.interval.ms"],
            "controller.quorum.bootstrap.servers": (
                f"127.0.0.1:{self.kafka.controller_port}"
            ),
            **{name.replace("_", "."): value for name, value in changed.items()},
        }
        words = [f"-o{name}={value}" for name, value in options.items()]
        made = BrokerProcess(data_dir, words)
        (made.port,) = free_ports(1)
        return made

    def admin(self, broker: Any) -> admin.AdminClient:
        return admin.AdminClient({"bootstrap.servers": broker.address})

    def brokers(self, broker: Any) -> set[int]:
        return set(self.admin(broker).list_topics(timeout=PATIENCE_S).brokers)


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    root = tmp_path_factory.mktemp("joined")
    with running_kafka(root, OPTIONS) as kafka:
        made = Joined(root, kafka)
        made.ours.start()
        try:
            yield made
        finally:
            made.ours.kill()
        assert "Traceback" not in made.ours.log()


def create(joined: Joined, name: str, *replicas: int, **options: str) -> None:
    topic = admin.NewTopic(
        name,
        1,
        replica_assignment=[list(replicas)],
        config={key.replace("_", "."): value for key, value in options.items()},
    )
    client = joined.admin(joined.ours)
    made = client.create_topics([topic])
    made[name].result(PATIENCE_S)


def produce(broker: Any, name: str, begin: int) -> None:
    errors: list[Any] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "enable.idempotence": True}
    )
    for number in range(begin, begin + COUNT):
        producer.produce(
            name,
            str(number).encode(),
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )
    assert producer.flush(PATIENCE_S) == 0
    assert errors == []


def consumed(broker: Any, name: str, count: int) -> list[int]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": f"readers of {name}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(name, 0, 0)])
    found = [
        int(each.value() or b"")
        for each in consumer.consume(count, timeout=PATIENCE_S)
        if each.error() is None
    ]
    consumer.close()
    return found


def in_sync(joined: Joined, name: str) -> tuple[int, set[int]]:
    """Who leads, and who is in sync, as Kafka says."""
    found = joined.admin(joined.kafka).list_topics(name, timeout=PATIENCE_S)
    partition = found.topics[name].partitions[0]
    return partition.leader, set(partition.isrs)


def logs_of(joined: Joined, name: str) -> tuple[bytes, bytes]:
    """All bytes of the topic, in Kafka's files and in ours."""
    theirs, ours = (
        b"".join(each.read_bytes() for each in sorted(found.glob("*.log")))
        for found in (
            joined.kafka.data_dir / f"{name}-0",
            joined.ours.data_dir / f"{name}-0",
        )
    )
    return theirs, ours


def are_equal(joined: Joined, name: str) -> bool:
    theirs, ours = logs_of(joined, name)
    return len(theirs) > 0 and theirs == ours


def test_both_brokers_say_that_both_are_there(joined: Joined) -> None:
    for each in (joined.ours, joined.kafka):
        wait_until(lambda each=each: joined.brokers(each) == {1, US}, PATIENCE_S)  # type: ignore[misc]


@pytest.mark.parametrize("leader", sampled([1, US], US))
def test_a_topic_is_made_by_us_and_read_through_either(
    joined: Joined, leader: int
) -> None:
    name = f"led-by-{leader}"
    create(joined, name, leader)
    produce(joined.kafka, name, 0)
    produce(joined.ours, name, COUNT)
    for broker in (joined.kafka, joined.ours):
        assert consumed(broker, name, 2 * COUNT) == list(range(2 * COUNT))


@pytest.mark.long
def test_who_was_killed_returns_with_all_that_was_acknowledged(joined: Joined) -> None:
    create(joined, "kept", US)
    produce(joined.ours, "kept", 0)
    joined.ours.kill()
    joined.ours.start()
    produce(joined.kafka, "kept", COUNT)
    assert consumed(joined.ours, "kept", 2 * COUNT) == list(range(2 * COUNT))


@pytest.mark.parametrize("leader", [1, US])
def test_either_follows_the_other_byte_for_byte(joined: Joined, leader: int) -> None:
    name, other = f"copied-from-{leader}", 1 + US - leader
    create(joined, name, leader, other, min_insync_replicas="2")
    produce(joined.kafka, name, 0)
    produce(joined.ours, name, COUNT)
    wait_until(lambda: are_equal(joined, name), PATIENCE_S)
    wait_until(lambda: in_sync(joined, name) == (leader, {1, US}), PATIENCE_S)
    for broker in (joined.kafka, joined.ours):
        assert consumed(broker, name, 2 * COUNT) == list(range(2 * COUNT))


@pytest.mark.parametrize(
    ("leader", "rack", "near"),
    sampled_rows([(US, "theirs", 1), (1, "ours", US)], (1, "ours", US)),
)
def test_consumers_read_in_their_own_rack(
    joined: Joined, leader: int, rack: str, near: int
) -> None:
    """Either follower serves them, and either leader sends them there (KIP-392)."""
    name = f"near-{rack}"
    create(joined, name, leader, near)
    produce(joined.ours, name, 0)
    asked: list[int] = []

    def note(text: str) -> None:
        partitions = json.loads(text)["topics"].get(name, {}).get("partitions", {})
        if "0" in partitions:
            asked.append(partitions["0"]["broker"])

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": joined.ours.address,
            "group.id": name,
            "client.rack": rack,
            "statistics.interval.ms": 20,
            "stats_cb": note,
        }
    )
    try:
        consumer.assign([TopicPartition(name, 0, 0)])
        found: list[int] = []

        def has_all() -> bool:
            for message in consumer.consume(COUNT, 0.1):
                assert message.error() is None, message.error()
                found.append(message.offset())
            return len(found) >= COUNT and asked[-1:] == [near]

        wait_until(has_all)
        assert found == list(range(COUNT))
    finally:
        consumer.close()


@pytest.mark.long
@pytest.mark.parametrize(("here", "there"), [(US, 1), (1, US)])
def test_a_move_goes_no_faster_than_it_may(
    joined: Joined, here: int, there: int, tmp_path: Path
) -> None:
    """Apache Kafka's tool sets the throttle, and takes it away again."""
    name, rate = f"slow-{here}", 200_000
    create(joined, name, here)
    producer = confluent_kafka.Producer({"bootstrap.servers": joined.ours.address})
    for _ in range(3_000):
        producer.produce(name, bytes(1_000))
    producer.flush(PATIENCE_S)
    plan = tmp_path / "plan.json"
    partition = {"topic": name, "partition": 0, "replicas": [here, there]}
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    command = [
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        *("--bootstrap-server", joined.ours.address),
        *("--reassignment-json-file", str(plan)),
    ]
    begun = time.monotonic()
    run_tool(*command, "--execute", "--throttle", str(rate))
    wait_until(lambda: in_sync(joined, name) == (here, {here, there}))
    # Less a mebibyte, which the first answer may bring.
    assert time.monotonic() - begun > (3_000_000 - (1 << 20)) / rate * 0.8
    assert "Clearing topic-level throttles" in run_tool(*command, "--verify")
    assert are_equal(joined, name)


def test_who_was_stopped_returns_and_leads_again(joined: Joined) -> None:
    name = "returned"
    create(joined, name, US, 1)
    produce(joined.ours, name, 0)
    joined.ours.terminate()
    wait_until(lambda: in_sync(joined, name) == (1, {1}), PATIENCE_S)
    produce(joined.kafka, name, COUNT)
    joined.ours.start()
    wait_until(lambda: in_sync(joined, name) == (1, {1, US}), PATIENCE_S)
    wait_until(lambda: are_equal(joined, name), PATIENCE_S)
    client = joined.admin(joined.kafka)
    elected = client.elect_leaders(
        confluent_kafka.ElectionType.PREFERRED, [TopicPartition(name, 0)]
    )
    elected.result(PATIENCE_S)
    wait_until(lambda: in_sync(joined, name) == (US, {1, US}), PATIENCE_S)
    produce(joined.ours, name, 2 * COUNT)
    assert consumed(joined.ours, name, 3 * COUNT) == list(range(3 * COUNT))
    wait_until(lambda: are_equal(joined, name), PATIENCE_S)


@pytest.mark.long
def test_who_was_killed_as_a_follower_catches_up(joined: Joined) -> None:
    name = "missed"
    create(joined, name, 1, US)
    produce(joined.kafka, name, 0)
    joined.ours.kill()
    produce(joined.kafka, name, COUNT)
    joined.ours.start()
    wait_until(lambda: in_sync(joined, name) == (1, {1, US}), PATIENCE_S)
    wait_until(lambda: are_equal(joined, name), PATIENCE_S)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"}, "another cluster"),
        ({"node_id": "1"}, "node.id 1 is that of a controller"),
    ],
)
def test_who_is_not_let_in_says_why(
    joined: Joined, tmp_path: Path, changed: dict[str, str], words: str
) -> None:
    refused = joined.broker(tmp_path / "data", **changed)
    refused.launch()
    assert refused.process is not None
    code = refused.process.wait(PATIENCE_S)
    refused.kill()
    assert (code, words in refused.log()) == (1, True), refused.log()
    assert not (tmp_path / "data" / "meta.properties").exists(), "it can be mended"
