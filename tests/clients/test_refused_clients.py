"""Clients that want what there is not: they and the log say so, at once."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S

confluent = pytest.importorskip("confluent_kafka")


def told(broker: BrokerProcess, client_id: str) -> list[str]:
    return [line for line in broker.log().splitlines() if f" {client_id} (" in line]


def test_librdkafka_fails_with_the_consumer_protocol_where_that_is_off(
    tmp_path: Path, collected: None
) -> None:
    off = ("-o", "group.coordinator.rebalance.protocols=classic")
    with running_broker(tmp_path / "data", *off) as broker:
        check_consumer_protocol_fails(broker, "app")


def check_consumer_protocol_fails(broker: BrokerProcess, topic: str) -> None:
    consumer = confluent.Consumer(
        {
            "bootstrap.servers": broker.address,
            "client.id": topic,
            "group.id": topic,
            "group.protocol": "consumer",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message.error().code() == confluent.KafkaError._FATAL
    assert "version not supported" in message.error().str()
    (line,) = told(broker, topic)
    assert "rdkafka" in line
    assert f"wants to join group {topic} by the consumer protocol (KIP-848)" in line
    assert line.endswith("set group.protocol=classic in the client")


def failing_client(broker: BrokerProcess, client_id: str, **options: str) -> str:
    """What librdkafka says; in a process of its own, as it is not to be stopped."""
    settings: dict[str, Any] = {
        "bootstrap.servers": broker.address,
        "client.id": client_id,
        "reconnect.backoff.ms": 10_000,
        **{name.replace("_", "."): value for name, value in options.items()},
    }
    code = (
        "import sys, confluent_kafka as k\n"
        "def fail(error): print(error.str()); sys.stdout.flush(); import os;"
        " os._exit(0)\n"
        f"client = k.Producer({settings!r} | {{'error_cb': fail}})\n"
        f"client.poll({PATIENCE_S})\n"
        f"client.flush({PATIENCE_S})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )
    return done.stdout + done.stderr


def test_a_client_that_logs_in_is_told_that_there_is_nothing_to_log_in_to(
    broker: BrokerProcess, topic: str
) -> None:
    said = failing_client(
        broker,
        topic,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="hush",
    )
    assert "mechanism handshake failed" in said
    assert "wants to log in by SASL (PLAIN)" in broker.log()
    assert "hush" not in broker.log()


def test_a_client_that_speaks_tls_is_known(broker: BrokerProcess, topic: str) -> None:
    failing_client(broker, topic, security_protocol="SSL")
    assert "it speaks TLS, which this listener does not" in broker.log()
