"""Brokers whose files of options are those of Apache Kafka's documentation."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess
from tests.certificates import Authority, authority, server
from tests.clients.logins import ports_of
from tests.patience import PATIENCE_S

STORE = "test1234"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def written(folder: Path, options: str) -> Path:
    path = folder / "server.properties"
    path.write_text(options)
    path.chmod(0o600)
    return path


def admin_of(
    port: int, options: Mapping[str, str]
) -> confluent_kafka.admin.AdminClient:
    ca = {"ssl.ca.location": str(authority().certificate)}
    address = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
    return confluent_kafka.admin.AdminClient({**address, **ca, **options})


def listener_of(admin: confluent_kafka.admin.AdminClient) -> int:
    """The port that clients are told."""
    (broker,) = admin.list_topics(timeout=PATIENCE_S).brokers.values()
    return int(broker.port)


def refusal(port: int, options: Mapping[str, str]) -> str:
    """What a client is told that does not get in."""
    said: list[str] = []
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "ssl.ca.location": str(authority().certificate),
            "log_level": 0,
            "error_cb": lambda error: said.append(error.str()),
            **options,
        }
    )
    client.poll(PATIENCE_S)
    return said[0]


THREE = """\
listeners=PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0
listener.security.protocol.map=\
PLAINTEXT:PLAINTEXT,INSIDE:SASL_PLAINTEXT,OUTSIDE:SASL_SSL
listener.name.inside.sasl.enabled.mechanisms=PLAIN
listener.name.inside.plain.sasl.jaas.config={plain} \\
    user_inside="in-secret";
listener.name.outside.sasl.enabled.mechanisms=PLAIN
listener.name.outside.plain.sasl.jaas.config={plain} user_outside="out-secret";
listener.name.outside.ssl.keystore.type=PEM
listener.name.outside.ssl.keystore.location={store}
"""


def test_each_of_three_listeners_has_its_own_users(tmp_path: Path) -> None:
    """S003: options with the name of a listener in front hold for that one alone."""
    holder = server()
    store = tmp_path / "store.pem"
    store.write_text(holder.key.read_text() + holder.certificate.read_text())
    store.chmod(0o600)
    path = written(tmp_path, THREE.format(plain=PLAIN, store=store))
    broker = BrokerProcess(tmp_path / "data", ["--config", str(path)])
    try:
        plain, inside, outside = ports_of(broker.start())

        def login(protocol: str, user: str, password: str) -> dict[str, str]:
            named = {"sasl.username": user, "sasl.password": password}
            return {"security.protocol": protocol, "sasl.mechanism": "PLAIN", **named}

        ways = {
            plain: {"security.protocol": "PLAINTEXT"},
            inside: login("SASL_PLAINTEXT", "inside", "in-secret"),
            outside: login("SASL_SSL", "outside", "out-secret"),
        }
        for port, options in ways.items():
            assert listener_of(admin_of(port, options)) == port
        for port, options in (
            (inside, login("SASL_PLAINTEXT", "outside", "out-secret")),
            (outside, login("SASL_SSL", "inside", "in-secret")),
        ):
            assert "Invalid username or password" in refusal(port, options)
        log = broker.log()
        assert "login of outside from 127.0.0.1 to INSIDE by PLAIN refused" in log
        assert "login of inside from 127.0.0.1 to OUTSIDE by PLAIN refused" in log
        assert "Traceback" not in log
        assert "secret" not in log
    finally:
        broker.kill()


# As its chapters on security say it: the stores, then the listener and its users.
PKCS12 = """\
ssl.keystore.location={keystore}
ssl.keystore.password={password}
ssl.key.password={password}
ssl.truststore.location={truststore}
ssl.truststore.password={password}
ssl.client.auth=none
ssl.enabled.protocols=TLSv1.2,TLSv1.3
ssl.keystore.type=PKCS12
ssl.truststore.type=PKCS12
ssl.endpoint.identification.algorithm=https
"""
PEM = """\
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={truststore}
"""
BROKER = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=SASL_SSL://127.0.0.1:0,CONTROLLER://localhost:9093
inter.broker.listener.name=SASL_SSL
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={plain} \\
    username="admin" \\
    password="admin-secret" \\
    user_admin="admin-secret" \\
    user_alice="alice-secret";
num.network.threads=3
num.io.threads=8
num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
"""
ALICE = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "alice-secret",
}


def stores(folder: Path, kind: str) -> dict[str, str]:
    holder, ca = server(), authority()
    if kind == "pkcs12":
        keystore, truststore = ca.pkcs12(holder, STORE), trusted(folder, ca)
    else:
        keystore, truststore = folder / "store.pem", ca.certificate
        parts = (holder.key, holder.certificate, ca.certificate)
        keystore.write_text("".join(part.read_text() for part in parts))
        keystore.chmod(0o600)
    found = {"keystore": keystore, "truststore": truststore, "password": STORE}
    return {name: str(value) for name, value in found.items()}


def trusted(folder: Path, ca: Authority) -> Path:
    path = folder / "truststore.p12"
    words = ["openssl", "pkcs12", "-export", "-nokeys", "-in", str(ca.certificate)]
    words += ["-passout", f"pass:{STORE}", "-out", str(path)]
    subprocess.run(words, check=True, capture_output=True)
    return path


@pytest.mark.parametrize("kind", ["pkcs12", "pem"])
def test_kafkas_own_file_starts_unchanged(tmp_path: Path, kind: str) -> None:
    """S004: options of KRaft and threads, which say nothing here, disturb nobody."""
    text = (PKCS12 if kind == "pkcs12" else PEM) + BROKER
    options = text.format(plain=PLAIN, **stores(tmp_path, kind))
    path = written(tmp_path, options)
    broker = BrokerProcess(tmp_path / "data", ["--config", str(path)])
    try:
        port = ports_of(broker.start())[0]
        admin = admin_of(port, ALICE)
        topic = confluent_kafka.admin.NewTopic("orders", 1, 1)
        admin.create_topics([topic])["orders"].result(PATIENCE_S)
        assert listener_of(admin) == port
        wrong = ALICE | {"sasl.password": "admin-secret"}
        assert "Invalid username or password" in refusal(port, wrong)
        assert "CreateTopics by User:alice (" in broker.log()
        for secret in (STORE, "admin-secret", "alice-secret"):
            assert secret not in broker.log()
    finally:
        broker.kill()


def test_a_true_keystore_of_java_is_told_the_line_that_changes_it(
    tmp_path: Path,
) -> None:
    """S004: its magic number says that it is no PKCS12, whatever it is called."""
    store = tmp_path / "server.keystore.jks"
    store.write_bytes(bytes.fromhex("feedfeed 00000002 00000000") + bytes(20))
    options = {"keystore": store, "truststore": store, "password": STORE}
    path = written(tmp_path, (PKCS12 + BROKER).format(plain=PLAIN, **options))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "odradek", "serve", "--config", str(path)),
            *("--data-dir", str(tmp_path / "data"), "--port", "0"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert f"keytool -importkeystore -srckeystore {store}" in done.stderr
    assert "-deststoretype PKCS12" in done.stderr
    assert "Traceback" not in done.stderr
    assert STORE not in done.stderr
