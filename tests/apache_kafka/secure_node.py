"""Apache Kafka with listeners of every protocol, and users for every mechanism."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.scram import Mechanism, set_password
from tests.apache_kafka.node import KafkaNode
from tests.authority import Authority
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.tokens import Issuer

PASSWORD = 'open, "sesame" = ä'
SESSION_MS = 2000
_MODULES = "org.apache.kafka.common.security"
_HANDLER = f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
_SASL = ("SASL_PLAINTEXT", "SASL_SSL")


class SecureKafka(KafkaNode):
    """The listeners' ports are in ``ports``; the SSL one wants certificates."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.ca = Authority(root)
        self.ports = dict(zip(("SSL", *_SASL), free_ports(3), strict=True))
        server = self.ca.issue("server", "IP:127.0.0.1", "DNS:localhost")
        self.issuer = Issuer(root)
        listeners = [f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()]
        listeners.append(f"PLAINTEXT://{self.address}")
        controller = f"CONTROLLER://127.0.0.1:{self.controller_port}"
        options = {
            "listeners": ",".join([*listeners, controller]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,"
            "SASL_SSL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca.certificate),
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.sasl_plaintext.connections.max.reauth.ms": str(SESSION_MS),
            "sasl.oauthbearer.jwks.endpoint.url": self.issuer.keys.as_uri(),
            "sasl.oauthbearer.expected.audience": self.issuer.audience,
            "delegation.token.secret.key": "hush",
        }
        for name in _SASL:
            options |= _logins(f"listener.name.{name.lower()}")
        self.configure(options)

    def client_options(self, protocol: str, **more: str) -> dict[str, str]:
        """Those of a client for a listener, as librdkafka names them."""
        found = {"bootstrap.servers": f"127.0.0.1:{self.ports[protocol]}"}
        found["security.protocol"] = protocol
        if protocol.endswith("SSL"):
            found["ssl.ca.location"] = str(self.ca.certificate)
        return found | {name.replace("_", "."): value for name, value in more.items()}


def _logins(prefix: str) -> Mapping[str, str]:
    escaped = PASSWORD.replace('"', '\\\\"').replace("ä", "\\u00e4")
    plain = f'{_MODULES}.plain.PlainLoginModule required user_alice="{escaped}";'
    token = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
    scram = f"{_MODULES}.scram.ScramLoginModule required;"
    return {
        f"{prefix}.plain.sasl.jaas.config": plain,
        f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
        f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
        f"{prefix}.oauthbearer.sasl.jaas.config": token,
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": _HANDLER,
    }


@contextlib.contextmanager
def running_secure_kafka(
    root: Path, options: Mapping[str, str] | None = None
) -> Iterator[SecureKafka]:
    """One for the length of a module, where alice can log in by all mechanisms."""
    node = SecureKafka(root)
    node.configure(options or {})
    keys = node.issuer.keys.as_uri()
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}"
    try:
        node.start([allowed])
        with Cluster(
            [Address("127.0.0.1", node.port)], timeout_s=PATIENCE_S
        ) as cluster:
            for mechanism in Mechanism:
                set_password(cluster, "alice", PASSWORD, mechanism)
        yield node
    finally:
        node.kill()
