"""Stock clients log in, by each mechanism, with TLS and without it."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest
from aiokafka.helpers import create_ssl_context

from tests.broker_process import BrokerProcess, running_broker
from tests.certificates import authority, server
from tests.patience import PATIENCE_S

USER, PASSWORD = "alice", "a long secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
COUNT = 20


@pytest.fixture(
    scope="module", params=["SASL_PLAINTEXT", "SASL_SSL"], ids=["plaintext", "ssl"]
)
def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[BrokerProcess, str]]:
    """A broker that wants logins, with a user of all mechanisms; and its protocol."""
    protocol: str = request.param
    folder = tmp_path_factory.mktemp(protocol)
    users = folder / "users"
    users.write_text(f"{USER}:{PASSWORD}\n")
    users.chmod(0o600)
    holder = server()
    options = [
        f"listeners={protocol}://127.0.0.1:0",
        f"sasl.enabled.mechanisms={','.join(MECHANISMS)}",
        f"plain.users.file={users}",
    ]
    if protocol == "SASL_SSL":
        options.append(f"ssl.certificate.file={holder.certificate}")
        options.append(f"ssl.key.file={holder.key}")
    words = [word for option in options for word in ("-o", option)]
    with running_broker(folder / "data", *words) as broker:
        _set_passwords(broker, protocol)
        yield broker, protocol
        assert "Traceback" not in broker.log()
        assert PASSWORD not in broker.log()


def _set_passwords(broker: BrokerProcess, protocol: str) -> None:
    """Who is in by PLAIN gives the others what they log in with."""
    admin = confluent_kafka.admin.AdminClient(_confluent(broker, protocol, "PLAIN"))
    for mechanism in confluent_kafka.admin.ScramMechanism:
        if mechanism.name == "UNKNOWN":
            continue
        info = confluent_kafka.admin.ScramCredentialInfo(mechanism, 4096)
        change = confluent_kafka.admin.UserScramCredentialUpsertion(
            USER, info, PASSWORD.encode(), os.urandom(16)
        )
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(PATIENCE_S)


def _confluent(broker: BrokerProcess, protocol: str, mechanism: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.address,
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(authority().certificate),
    }


def _kafka_python(
    broker: BrokerProcess, protocol: str, mechanism: str
) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.address,
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": USER,
        "sasl_plain_password": PASSWORD,
        "ssl_cafile": str(authority().certificate),
    }


def _aiokafka(broker: BrokerProcess, protocol: str, mechanism: str) -> dict[str, Any]:
    options = _kafka_python(broker, protocol, mechanism)
    cafile = options.pop("ssl_cafile")
    if protocol == "SASL_SSL":
        options["ssl_context"] = create_ssl_context(cafile=cafile)
    return options


VALUES = [b"%d" % number for number in range(COUNT)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent(
    guarded: tuple[BrokerProcess, str], topic: str, mechanism: str
) -> None:
    options = _confluent(*guarded, mechanism)
    producer = confluent_kafka.Producer(options)
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer({**options, "group.id": topic})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = consumer.consume(COUNT, PATIENCE_S)
    consumer.close()
    assert [message.value() for message in found] == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(
    guarded: tuple[BrokerProcess, str], topic: str, mechanism: str
) -> None:
    options = _kafka_python(*guarded, mechanism)
    producer = kafka.KafkaProducer(**options)
    for value in VALUES:
        producer.send(topic, value, partition=0)
    producer.flush(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(**options, consumer_timeout_ms=PATIENCE_S * 1000)
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = [next(consumer).value for _ in range(COUNT)]
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(
    guarded: tuple[BrokerProcess, str], topic: str, mechanism: str
) -> None:
    found = asyncio.run(_through_aiokafka(guarded, topic, mechanism))
    assert found == VALUES


async def _through_aiokafka(
    guarded: tuple[BrokerProcess, str], topic: str, mechanism: str
) -> list[Any]:
    options = _aiokafka(*guarded, mechanism)
    async with aiokafka.AIOKafkaProducer(**options) as producer:
        for value in VALUES:
            await producer.send_and_wait(topic, value, partition=0)
    async with aiokafka.AIOKafkaConsumer(**options) as consumer:
        place = aiokafka.TopicPartition(topic, 0)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        async with asyncio.timeout(PATIENCE_S):
            return [(await consumer.getone()).value for _ in range(COUNT)]


def test_a_wrong_password_is_told(
    guarded: tuple[BrokerProcess, str], tmp_path: Path
) -> None:
    options = _confluent(*guarded, "PLAIN") | {"sasl.password": "wrong"}
    said: list[str] = []
    client = confluent_kafka.Producer(
        {**options, "error_cb": lambda error: said.append(error.str()), "log_level": 0}
    )
    client.poll(PATIENCE_S)
    assert "Invalid username or password" in said[0]
    assert f"login of {USER} from 127.0.0.1" in guarded[0].log()
