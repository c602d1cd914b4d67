"""The test kit with Java's producer, and recordings that Apache Kafka answers."""

import subprocess
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from odradek.testing import Broker, ExternalBroker
from tests.apache_kafka import jars
from tests.apache_kafka.java_client import JavaClient, JavaFailure
from tests.apache_kafka.node import KafkaNode
from tests.patience import PATIENCE_S
from tests.sampling import sampled

PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
USERS = {"alice": 'se"cr\\et', "bob": "other"}
LOGINS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "plain": (None, {}),
    "tls": ("ssl", {}),
    "login": ("sasl_plaintext", {"mechanism": "SCRAM-SHA-512"}),
    "both": ("sasl_ssl", {"user": "bob", "mechanism": "SCRAM-SHA-256"}),
    "quoted": ("sasl_ssl", {"user": "alice"}),
}


def test_java_delivers_at_the_third_try() -> None:
    """T330: refused twice, stored once."""
    with Broker() as broker:
        topic = broker.topic("t")
        code = "NOT_LEADER_OR_FOLLOWER"
        rule = broker.faults.error("Produce", code, topic=topic, times=2)
        given = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        with broker.expect("Produce", topic=topic, times=3):
            done = subprocess.run(
                jars.java(PRODUCER, *given),
                input="v\n",
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        assert rule.count == 2
        assert [each.value for each in topic.records(1)] == [b"v"]


def properties(path: Path, options: dict[str, Any]) -> str:
    """A file of them, as `java.util.Properties` reads it."""
    lines = [f"{name}={value}\n" for name, value in options.items()]
    path.write_text("".join(lines).replace("\\", "\\\\"))
    return str(path)


@pytest.mark.parametrize("login", sampled(LOGINS, "both", "quoted"))
def test_java_takes_what_the_kit_tells_it(
    login: str, java: JavaClient, tmp_path: Path
) -> None:
    security, who = LOGINS[login]
    users = USERS if security and security.startswith("sasl") else None
    with Broker(security=security, users=users) as broker:
        topic = broker.topic("t")
        options = broker.config("java", **who)
        file = properties(tmp_path / "options", options)
        server = ("--bootstrap-server", options["bootstrap.servers"])
        there = (*server, "--topic", topic, "--command-config", file)
        java.feed("first\nsecond\n", PRODUCER, *there)
        assert [each.value for each in topic.records(2)] == [b"first", b"second"]
        most = ("--from-beginning", "--max-messages", "2")
        first, second, *_ = java.tool(CONSUMER, *there, *most).splitlines()
        assert (first, second) == ("first", "second")


def test_java_is_not_let_in_with_another_password(
    java: JavaClient, tmp_path: Path
) -> None:
    with Broker(security="sasl_plaintext", users=USERS) as broker:
        topic = broker.topic("t")
        options = broker.config("java", "bob")
        broker.ask("users.set", users={"bob": "a new one"})
        file = properties(tmp_path / "options", options)
        server = ("--bootstrap-server", options["bootstrap.servers"])
        with pytest.raises(JavaFailure, match="SaslAuthenticationException"):
            java.tool(
                "org.apache.kafka.tools.GetOffsetShell",
                *(*server, "--topic", topic, "--command-config", file),
            )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A producer, a transaction and a reader of a group, on our broker."""
    path = tmp_path / "recorded"
    with Broker() as broker:
        broker.topic("recorded")
        config = broker.config("confluent") | {"client.id": "app"}
        with broker.record(path, client_id="app") as recording:
            producer = confluent_kafka.Producer(config | {"transactional.id": "x"})
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            producer.produce("recorded", b"v", headers={"h": b"1"})
            producer.commit_transaction(PATIENCE_S)
            group = {"group.id": "readers", "auto.offset.reset": "earliest"}
            consumer = confluent_kafka.Consumer(config | group)
            consumer.subscribe(["recorded"])
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.value() == b"v"
            consumer.commit(asynchronous=False)
            consumer.close()
        assert recording.calls > 15
    return path


def test_apache_kafka_answers_a_recording_as_we_did(
    recorded: Path, lone_kafka: KafkaNode
) -> None:
    there = ExternalBroker(lone_kafka.address)
    there.topic("recorded")
    there.replay(recorded)
