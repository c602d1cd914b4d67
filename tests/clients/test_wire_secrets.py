"""S027: what clients send to log in is in no log, audit, file or list of processes.

Commands, options and the environment: tests/broker/cli/test_secrets.py; plans of Spark:
tests/pipeline/test_secure_jobs.py.
"""

import contextlib
import itertools
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.delegation_tokens import create_token, renew_token
from odradek.client.security.options import read_security
from odradek.client.security.settings import Secret
from odradek.protocol.errors import KafkaError
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.certificates import authority, encrypted_key, server
from tests.clients.logins import (
    MECHANISMS,
    PASSWORD,
    USER,
    Listening,
    Way,
    listening_broker,
)
from tests.patience import PATIENCE_S

DAY_MS = 86_400_000
MARK = "m4rk3d-s3cr3t"
# Of what an administrator sets by the API the value is kept, as Apache Kafka does.
ALTERED = "4lt3r3d-s3cr3t"


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    options = {
        "ssl.key.file": str(encrypted_key(server(), MARK)),
        "ssl.key.password": MARK,
        "delegation.token.secret.key": MARK,
        "logging.level": "debug",
        "connection.failed.authentication.delay.ms": "0",
    }
    with listening_broker(tmp_path, options) as found:
        yield found


def tokens_of(mechanism: str) -> list[bytes]:
    """First messages with the secret in every place where one could come."""
    bearer = b"n,,\1auth=Bearer %s\1\1"
    marked = MARK.encode()
    return {
        "PLAIN": [
            b"\0%s\0%s" % (USER.encode(), marked),
            b"%s\0x\0%s" % (USER.encode(), marked),
            b"\0nobody\0" + marked,
            marked,
            b"\0\0" + marked,
            b"\0x\0%s\0" % marked,
            b"\xff\0" + marked,
        ],
        "OAUTHBEARER": [
            bearer % marked,
            bearer % (b"%s.%s.%s" % (marked, marked, marked)),
            bearer % b"eyJhbGciOiJub25lIn0.%s." % marked,
            b"n,,\1auth=Basic %s\1\1" % marked,
            marked,
        ],
    }.get(mechanism, [b"n,,n=alice,r=x,%s=%s" % (marked, marked), marked])


def say(listening: Listening, way: Way, token: bytes, version: int) -> None:
    """Choose the mechanism, send a token, and wait until the broker closes."""
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", listening.ports[way.listener])
        sock = stack.enter_context(socket.create_connection(address, PATIENCE_S))
        if way.listener == "SASL_SSL":
            context = ssl.create_default_context(cafile=str(authority().certificate))
            sock = stack.enter_context(
                context.wrap_socket(sock, server_hostname="localhost")
            )
        choice = SaslHandshakeRequest(mechanism=way.mechanism)
        sock.sendall(bytes(encode_request(choice, version, 1, "x")))
        if version:
            sent = SaslAuthenticateRequest(auth_bytes=token)
            sock.sendall(bytes(encode_request(sent, 2, 2, "x")))
        else:
            sock.sendall(struct.pack(">i", len(token)) + token)
        sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while sock.recv(1 << 16):
                pass


def set_options(listening: Listening) -> None:
    """Secrets by IncrementalAlterConfigs: one that is taken, and some that are not."""
    admin = confluent_kafka.admin.AdminClient(
        listening.confluent(Way("SASL_SSL", "PLAIN"))
    )
    for name, value in (
        ("listener.name.ssl.ssl.key.password", ALTERED),
        ("listener.name.ssl.ssl.keystore.password", ALTERED),
        ("ssl.key.pasword", ALTERED),
        ("sasl.jaas.config", f'x.PlainLoginModule required user_x="{ALTERED}";'),
        ("delegation.token.secret.key", ALTERED),
    ):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(
            ConfigResource.Type.BROKER, "1", incremental_configs=[entry]
        )
        (done,) = admin.incremental_alter_configs([resource]).values()
        assert ALTERED not in str(done.exception(PATIENCE_S))
    resource = ConfigResource(ConfigResource.Type.BROKER, "1")
    (described,) = admin.describe_configs([resource]).values()
    for name, entry in described.result(PATIENCE_S).items():
        values = [entry.value, *(each.value for each in entry.synonyms.values())]
        assert not any(
            secret in (value or "")
            for value in values
            for secret in (MARK, ALTERED, PASSWORD)
        ), name


def lend(listening: Listening) -> str:
    """The secret of a delegation token, which was also used."""
    options = {
        str(name): str(value)
        for name, value in listening.confluent(Way("SASL_SSL", "PLAIN")).items()
    }
    where = [Address("127.0.0.1", listening.ports["SASL_SSL"])]
    with Cluster(
        where, security=read_security(options), timeout_s=PATIENCE_S
    ) as cluster:
        token = create_token(cluster)
        renew_token(cluster, token.hmac, DAY_MS)
        with pytest.raises(KafkaError) as refused:
            renew_token(cluster, Secret("bTRyazNk" + token.hmac.value[8:]), DAY_MS)
        assert token.hmac.value not in str(refused.value)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    lent = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(authority().certificate),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{module} required username="{token.token_id}"'
        f' password="{token.hmac.value}" tokenauth="true";',
    }
    with Cluster(where, security=read_security(lent), timeout_s=PATIENCE_S) as cluster:
        assert cluster.metadata().brokers
        with pytest.raises(KafkaError):
            create_token(cluster)  # not by a token
    return token.hmac.value


def test_what_is_sent_to_log_in_is_told_nowhere(listening: Listening) -> None:
    """S027: also of logins that are none, with every line of the log."""
    ways = itertools.product(("SASL_PLAINTEXT", "SASL_SSL"), MECHANISMS)
    for way in itertools.starmap(Way, ways):
        for token, version in itertools.product(tokens_of(way.mechanism), (0, 1)):
            say(listening, way, token, version)
    set_options(listening)
    secrets = [MARK, ALTERED, PASSWORD, lend(listening)]
    log = listening.broker.log()
    assert "login of" in log
    assert '"level": "DEBUG"' in log or " DEBUG " in log
    for secret in secrets:
        assert secret not in log
    commands = Path(f"/proc/{listening.broker.pid}/cmdline")
    assert not commands.exists() or MARK.encode() not in commands.read_bytes()
    found = {
        (path.name, secret)
        for path in listening.broker.data_dir.rglob("*")
        for secret in secrets
        if path.is_file() and secret.encode() in path.read_bytes()
    }
    assert {each for each in found if each[1] != ALTERED} == set()
    assert all(name.startswith("catalog") for name, _ in found), found
