"""Controllers and brokers of Apache Kafka that want TLS and logins, and odradek."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache_kafka.node import KafkaNode
from tests.apache_kafka.test_join import (
    COUNT,
    OPTIONS,
    US,
    Joined,
    are_equal,
    create,
    in_sync,
    produce,
)
from tests.authority import Authority
from tests.client.live import wait_until
from tests.patience import PATIENCE_S
from tests.ports import free_ports

pytestmark = pytest.mark.long

_PLAIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="{}" password="{}" user_us="our" user_them="their";'
)
# Controllers want a certificate, brokers a login; both encrypt.
PROTOCOLS = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL,INSIDE:SASL_SSL"
    ),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INSIDE",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
}


class SecureNode(KafkaNode):
    """Its PLAINTEXT listener is for the tests."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, OPTIONS)
        self.ca = Authority(root)
        (self.inside,) = free_ports(1)
        told = f"PLAINTEXT://{self.address},INSIDE://127.0.0.1:{self.inside}"
        controller = f"CONTROLLER://127.0.0.1:{self.controller_port}"
        self.configure(
            {
                **PROTOCOLS,
                **self.stores("them"),
                "listeners": f"{told},{controller}",
                "advertised.listeners": f"{told},{controller}",
                "listener.name.controller.ssl.client.auth": "required",
                "listener.name.inside.plain.sasl.jaas.config": _PLAIN.format(
                    "them", "their"
                ),
            }
        )

    def stores(self, name: str) -> dict[str, str]:
        return {
            "ssl.keystore.location": str(self.ca.issue(name, "IP:127.0.0.1")),
            "ssl.truststore.location": str(self.ca.certificate),
        }


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    root = tmp_path_factory.mktemp("joined-secure")
    kafka = SecureNode(root)
    kafka.start()
    try:
        made = Joined(root, kafka)
        (inside,) = free_ports(1)
        options = {
            **PROTOCOLS,
            **kafka.stores("us"),
            "listeners": f"PLAINTEXT://127.0.0.1:1,INSIDE://127.0.0.1:{inside}",
            "listener.name.inside.plain.sasl.jaas.config": _PLAIN.format("us", "our"),
        }
        config = root / "ours.properties"
        config.write_text("".join(f"{name}={options[name]}\n" for name in options))
        made.ours.options += ["--config", str(config)]
        made.ours.start()
        try:
            yield made
        finally:
            made.ours.kill()
        assert "Traceback" not in made.ours.log()
    finally:
        kafka.kill()


@pytest.mark.parametrize("leader", [1, US])
def test_either_follows_the_other(joined: Joined, leader: int) -> None:
    name = f"safe-{leader}"
    create(joined, name, leader, 1 + US - leader, min_insync_replicas="2")
    produce(joined.kafka, name, 0)
    produce(joined.ours, name, COUNT)
    wait_until(lambda: are_equal(joined, name), PATIENCE_S)
    wait_until(lambda: in_sync(joined, name) == (leader, {1, US}), PATIENCE_S)


def test_who_shows_no_certificate_is_told(joined: Joined, tmp_path: Path) -> None:
    assert isinstance(joined.kafka, SecureNode)
    stranger = joined.broker(tmp_path / "data", node_id="3")
    stranger.options += [
        "-olistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
        "-ossl.truststore.type=PEM",
        f"-ossl.truststore.location={joined.kafka.ca.certificate}",
    ]
    stranger.launch()
    assert stranger.process is not None
    code = stranger.process.wait(PATIENCE_S)
    stranger.kill()
    log = stranger.log()
    assert (code, "wants a certificate of ours" in log) == (1, True), log
