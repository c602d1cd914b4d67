"""Brokers with TLS, logins and an authorizer, and clients of their listeners.

Both have the listeners PLAINTEXT, where everybody may do all, SASL_PLAINTEXT and
SASL_SSL. Alice may use the topics of benchmarks, by an entry; she logs in by PLAIN or
SCRAM.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from peers import kafka
from targets import Broker, Target, free_port

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.scram import Mechanism, set_password
from odradek.client.security.options import read_security
from odradek.protocol.acl_entries import PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)

USER, PASSWORD = "alice", "secret"
ROOT_USER = "User:ANONYMOUS"
SASL_PLAINTEXT, SASL_SSL = "SASL_PLAINTEXT", "SASL_SSL"
_MODULES = "org.apache.kafka.common.security"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Certificate(NamedTuple):
    """A key, its certificate, and both in one file."""

    key: Path
    certificate: Path
    both: Path


def make_certificate(root: Path) -> Certificate:
    """One for 127.0.0.1 that vouches for itself; its key is of P-256."""
    made = Certificate(root / "key.pem", root / "certificate.pem", root / "both.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "30"]
    command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(command, check=True, capture_output=True)
    made.both.touch(0o600)
    made.both.write_text(made.key.read_text() + made.certificate.read_text())
    return made


class Guarded(Broker):
    """One of them, running; ``certificate`` is what its clients trust."""

    def __init__(
        self,
        target: Target,
        root: Path,
        ports: Mapping[str, int],
        certificate: Certificate,
    ) -> None:
        super().__init__(target, root)
        self._ports, self._certificate = ports, certificate

    def security(self, protocol: str, mechanism: str = "PLAIN") -> dict[str, str]:
        """The options of a client for one of the listeners."""
        if protocol == "PLAINTEXT":
            return {}
        found = {
            "security.protocol": protocol,
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
        if protocol == SASL_SSL:
            found["ssl.ca.location"] = str(self._certificate.certificate)
        return found

    def at(self, protocol: str) -> "Listener":
        port = self._ports.get(protocol, self.port)
        return Listener(self, port, json.dumps(self.security(protocol)))

    def connect(self, protocol: str, mechanism: str = "PLAIN") -> Connection:
        security = read_security(self.security(protocol, mechanism))
        return Connection("127.0.0.1", self.at(protocol).port, security=security)

    def let_in(self) -> None:
        """Give alice her passwords and her rights."""
        with Cluster([Address("127.0.0.1", self.port)], timeout_s=60) as cluster:
            set_password(cluster, USER, PASSWORD, Mechanism.SCRAM_SHA_256)
        entry = AclCreation(
            resource_type=ResourceType.TOPIC,
            resource_name="bench",
            resource_pattern_type=PatternType.PREFIXED,
            principal=f"User:{USER}",
            host="*",
            operation=Operation.ALL,
            permission_type=Permission.ALLOW,
        )
        request = CreateAclsRequest(creations=[entry])
        with Connection("127.0.0.1", self.port) as connection:
            answer = connection.request(request, CreateAclsResponse)
        assert not answer.results[0].error_code, answer


class Listener(NamedTuple):
    """One listener of a broker, as far as a load has to know it."""

    broker: Guarded
    port: int
    security: str  # a client's options, as JSON

    def cpu_seconds(self) -> float:
        return self.broker.cpu_seconds()


def _common() -> dict[str, str]:
    plain = f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    scram = f"{_MODULES}.scram.ScramLoginModule required;"
    found = {
        "authorizer.class.name": _AUTHORIZER,
        "super.users": ROOT_USER,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "ssl.keystore.type": "PEM",
    }
    for protocol in (SASL_PLAINTEXT, SASL_SSL):
        prefix = f"listener.name.{protocol.lower()}"
        found[f"{prefix}.plain.sasl.jaas.config"] = plain
        found[f"{prefix}.scram-sha-256.sasl.jaas.config"] = scram
    return found


def _two_ports() -> dict[str, int]:
    return {SASL_PLAINTEXT: free_port(), SASL_SSL: free_port()}


def _listeners(ports: Mapping[str, int]) -> str:
    more = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    return f"PLAINTEXT://127.0.0.1:{{port}},{more}"


def odradek_guarded(root: Path, certificate: Certificate) -> Guarded:
    ports = _two_ports()
    file = root / "odradek.properties"
    file.touch(0o600)  # passwords are in it
    file.write_text("".join(f"{name}={value}\n" for name, value in _common().items()))
    options = {
        "listeners": _listeners(ports),
        "ssl.keystore.location": str(certificate.both),
    }
    words = [sys.executable, "-m", "odradek", "serve", "--durability", "none"]
    words += ["--data-dir", "{data_dir}", "--config", str(file)]
    words += [word for each in options.items() for word in ("-o", "=".join(each))]
    return Guarded(Target("odradek", shlex.join(words)), root, ports, certificate)


def kafka_guarded(libs: Path, root: Path, certificate: Certificate) -> Guarded:
    ports = _two_ports()
    listeners = _listeners(ports)
    options = _common() | {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{{spare_port}}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        f"{SASL_PLAINTEXT}:{SASL_PLAINTEXT},{SASL_SSL}:{SASL_SSL}",
        "ssl.keystore.location": str(certificate.both),
    }
    quoted = {name: shlex.quote(value) for name, value in options.items()}
    return Guarded(kafka(libs, "", quoted), root, ports, certificate)
