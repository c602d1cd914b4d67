"""Our client, and a mirror, log in at Apache Kafka by every mechanism, and again."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.snippets.option_files import as_properties
from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.errors import TlsFailed
from odradek.client.security.options import read_security
from odradek.protocol.errors import SaslAuthenticationFailed
from tests.apache_kafka.secure_node import (
    PASSWORD,
    SESSION_MS,
    SecureKafka,
    running_secure_kafka,
)
from tests.apache_kafka.test_mirror import log_of
from tests.authority import date_of
from tests.broker_process import running_broker
from tests.client.live import connected, create_topic, produce
from tests.fuzz.test_crowds import wait_until
from tests.patience import PATIENCE_S

# `test_security_commands` logs in there, too.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with running_secure_kafka(tmp_path_factory.mktemp("secure")) as node:
        yield node


def client(options: dict[str, str]) -> Cluster:
    servers = parse_addresses(options["bootstrap.servers"])
    return Cluster(servers, security=read_security(options), timeout_s=PATIENCE_S)


def alice(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    login = {"sasl_mechanism": mechanism, "sasl_username": "alice"}
    return {**login, "sasl_password": password}


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_passwords(kafka: SecureKafka, protocol: str, mechanism: str) -> None:
    """S013: our client there; Java's here: test_login_again, test_tokens."""
    with client(kafka.client_options(protocol, **alice(mechanism))) as cluster:
        assert list(cluster.metadata().brokers) == [1]
    wrong = kafka.client_options(protocol, **alice(mechanism, "wrong"))
    with client(wrong) as cluster, pytest.raises(SaslAuthenticationFailed):
        cluster.metadata()


def test_tokens(kafka: SecureKafka, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(kafka.issuer.token("alice"))
    options = kafka.client_options("SASL_SSL", sasl_mechanism="OAUTHBEARER")
    options["sasl.oauthbearer.token.endpoint.url"] = path.as_uri()
    with client(options) as cluster:
        assert list(cluster.metadata().brokers) == [1]
    path.write_text(kafka.issuer.token("alice", life_s=-600))
    with client(options) as cluster, pytest.raises(SaslAuthenticationFailed):
        cluster.metadata()


def test_certificates(kafka: SecureKafka) -> None:
    options = kafka.client_options("SSL")
    with client(options) as cluster, pytest.raises(TlsFailed):
        cluster.metadata()
    mine = str(kafka.ca.issue("client"))
    with client(options | {"ssl.certificate.location": mine}) as cluster:
        assert list(cluster.metadata().brokers) == [1]


def test_a_connection_outlives_the_certificate_that_it_was_made_with(
    kafka: SecureKafka,
) -> None:
    """Ours does it like this: tests/broker/network/tls/test_door.py."""
    options, connection, life_s = kafka.client_options("SSL"), None, 1
    while connection is None:  # nothing says how long a handshake takes here
        life_s *= 2
        end_s = int(time.time()) + life_s
        mine = str(kafka.ca.issue(f"for-{life_s}", to_date=date_of(end_s)))
        briefly = options | {"ssl.certificate.location": mine}
        with contextlib.suppress(TlsFailed), client(briefly) as cluster:
            connection = cluster.open_connection(-1)
            connection.request(*_question())
    wait_until(lambda: time.time() > end_s + 1)
    connection.request(*_question())
    with client(briefly) as cluster, pytest.raises(TlsFailed):
        cluster.metadata()
    connection.request(*_question())
    connection.close()


def test_a_connection_outlives_its_session(kafka: SecureKafka) -> None:
    options = kafka.client_options("SASL_PLAINTEXT", **alice("SCRAM-SHA-256"))
    with client(options) as cluster:
        connection = cluster.open_connection(-1)
        end_s = time.monotonic() + 2 * SESSION_MS / 1000
        while time.monotonic() < end_s:
            connection.request(*_question())
        connection.request(*_question())
        connection.close()


def test_a_mirror(
    kafka: SecureKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its source wants a certificate, a login, or one that ends every two seconds."""
    ways = {
        "SSL": {"ssl.certificate.location": str(kafka.ca.issue("mirror"))},
        "SASL_SSL": alice("SCRAM-SHA-512"),
        "SASL_PLAINTEXT": alice("PLAIN"),
    }
    with running_broker(tmp_path / "data") as ours, connected(kafka.port) as there:
        for protocol, way in ways.items():
            topic = f"mirrored-{protocol}"
            create_topic(there, topic, 1)
            options = kafka.client_options(protocol, **way)
            file = tmp_path / f"{protocol}.properties"
            file.touch(0o600)
            file.write_text(as_properties(options.items()))
            where = ("--from", options["bootstrap.servers"], "--topics", topic)
            given = (*where, "--command-config", str(file))
            admin = ("--data-dir", str(ours.data_dir))
            assert main(["mirror", "add", protocol, *given, *admin]) == 0
        end_s = time.monotonic() + 1.5 * SESSION_MS / 1000
        for protocol in ways:
            topic = f"mirrored-{protocol}"
            wait_until(lambda: time.monotonic() > end_s)
            produce(there, topic, 0, [1, 2])
            wait_until(lambda topic=topic: log_of(ours, topic, 0) != b"")
            assert log_of(ours, topic, 0) == log_of(kafka, topic, 0)
        said = ours.log() + capsys.readouterr().out
        assert "Traceback" not in said
        assert PASSWORD not in said


def _question() -> tuple:  # type: ignore[type-arg]
    from odradek.client.metadata import metadata_request
    from odradek.protocol.messages.metadata import MetadataResponse

    return metadata_request(None), MetadataResponse
