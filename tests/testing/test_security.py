"""Brokers with TLS, users and lists, by clients of three libraries."""

import os
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiokafka
import kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from odradek.testing import Broker, BrokerError, security
from odradek.testing.security import MECHANISMS, Security
from tests.patience import PATIENCE_S
from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)

USERS = {"alice": 'se"cr\\et', "bob": "other"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(security="sasl_ssl", users=USERS, acl=True) as broker:
        broker.topic("t")
        yield broker


def produce(options: dict[str, Any]) -> None:
    errors: list[Any] = []
    producer = Producer(options)
    producer.produce("t", b"v", on_delivery=lambda error, _: errors.append(error))
    producer.flush(PATIENCE_S)
    [error] = errors
    if error is not None:
        raise KafkaException(error)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_administrator_may_do_everything(broker: Broker, mechanism: str) -> None:
    produce(broker.config("confluent", "admin", mechanism))
    producer = kafka.KafkaProducer(**broker.config("kafka-python", "admin", mechanism))
    producer.send("t", b"v").get(PATIENCE_S)
    producer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka(broker: Broker, mechanism: str) -> None:
    options = broker.config("aiokafka", "admin", mechanism)
    async with aiokafka.AIOKafkaProducer(**options) as producer:
        await producer.send_and_wait("t", b"v")


def test_a_user_may_do_what_an_entry_says(broker: Broker) -> None:
    alice = broker.config("confluent")
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        produce(alice)
    entry = AclBinding(
        ResourceType.TOPIC,
        "t",
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient(broker.config("confluent", user="admin"))
    for made in admin.create_acls([entry]).values():
        made.result(PATIENCE_S)
    produce(alice)


def test_who_has_no_password_is_not_let_in(broker: Broker) -> None:
    errors: list[int] = []
    options = broker.config("confluent", "bob") | {"sasl.password": "wrong"}
    told = {"error_cb": lambda error: errors.append(error.code()), "log_level": 0}
    producer = Producer(options | told)
    while not errors:
        producer.poll(0.1)
    assert errors[0] == KafkaError._AUTHENTICATION


def test_users_are_there_behind_a_kill_and_may_change() -> None:
    with Broker(security="sasl_plaintext", users={"alice": "secret"}) as broker:
        broker.topic("t")
        broker.kill()
        broker.start()
        produce(broker.config("confluent"))
        broker.ask("users.set", users={"carol": "new"})
        options = broker.config("confluent")
        produce(options | {"sasl.username": "carol", "sasl.password": "new"})


def test_tls_alone(tmp_path: Path) -> None:
    path = tmp_path / "r"
    with Broker(security="ssl") as broker:
        broker.topic("t")
        with broker.record(path, client_id="app"):
            produce(broker.config("confluent") | {"client.id": "app"})
    with Broker(security="sasl_ssl", users=USERS) as other:
        other.topic("t")
        assert not other.replay(path)  # with the options of its own clients


def test_each_client_is_told_in_its_own_words() -> None:
    given = Security("sasl_ssl", USERS)
    java = given.client_options("java", "alice", "SCRAM-SHA-256")
    assert java["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="se\\"cr\\\\et";'
    )
    assert java["ssl.truststore.type"] == "PEM"
    spark = given.client_options("spark", "alice", "SCRAM-SHA-256")
    assert spark == {f"kafka.{name}": value for name, value in java.items()}
    context = given.client_options("aiokafka", None, "PLAIN")["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    plain = Security("sasl_plaintext", USERS).client_options("java", None, "PLAIN")
    assert not [name for name in plain if name.startswith("ssl")]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"security": "tls"}, "security is 'tls'; it is one of ssl, sasl_ssl"),
        ({"security": "sasl_ssl"}, r"nobody could log in; .*users=\{\"alice\""),
        ({"security": "ssl", "users": USERS}, "users need logins"),
        ({"security": "ssl", "acl": True}, "acl need logins"),
        ({"users": USERS}, "users and acl need logins: set security to"),
        ({"acl": True}, "users and acl need logins"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Broker(**given)


def test_who_is_not_there_cannot_be_chosen(broker: Broker) -> None:
    with pytest.raises(ValueError, match="no user 'eve'; there are alice, bob, admin"):
        broker.config("confluent", user="eve")
    with pytest.raises(ValueError, match="mechanism is 'GSSAPI'; it is one of PLAIN"):
        broker.config("confluent", mechanism="GSSAPI")
    with pytest.raises(ValueError, match="nobody logs in, and so not 'eve'"):
        Security("ssl").client_options("confluent", "eve", "PLAIN")


def test_without_the_package_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is left of the attempt."""
    monkeypatch.setattr(security._Folder, "path", None)
    folders: list[Path] = []
    new_directory = security.new_directory

    def noted(parent: Path, start: str) -> Path:
        folders.append(new_directory(parent, start))
        return folders[-1]

    def refused(arguments: list[str]) -> str:
        raise BrokerError("a package is needed: odradek[security]")

    monkeypatch.setattr(security, "new_directory", noted)
    monkeypatch.setattr(security, "run_command", refused)
    with pytest.raises(BrokerError, match=r"odradek\[security\]"):
        Broker(security="ssl")
    assert not any(each.exists() for each in folders)


def test_threads_share_their_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that trusts another CA than its broker has would be lost."""
    monkeypatch.setattr(security._Folder, "path", None)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: security.certificates(), range(3)))
    assert len(set(found)) == 1


def test_certificates_are_for_their_owner_alone() -> None:
    folder = security.certificates()
    assert folder == security.certificates()
    assert os.stat(folder.parent).st_mode & 0o077 == 0
    security._remove(folder.parent, os.getpid() + 1)  # a child that was forked
    assert folder.exists()


FACTORY = """
from odradek.testing import factories

kafka = factories.broker(
    scope="session", security="sasl_plaintext", users={"alice": "secret"}
)

def test_it(kafka):
    assert kafka.config("java")["security.protocol"] == "SASL_PLAINTEXT"
    assert not kafka.is_shared
"""


def test_a_fixture_of_a_project_is_one(pytester: pytest.Pytester) -> None:
    run_inside(pytester, FACTORY).assert_outcomes(passed=1)
