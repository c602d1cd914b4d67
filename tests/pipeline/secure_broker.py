"""A broker that wants TLS and logins, with rights for some: for jobs."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.scram import Mechanism, set_password
from odradek.client.security.options import read_security
from tests.broker.operate.metrics.served import Samples, read
from tests.broker_process import BrokerProcess, running_broker
from tests.certificates import authority, server
from tests.client.live import settle
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S

# Nobody may ever see it, wherever a job leaves something behind.
MARKER = "open-sesame-4711"
SESSION_MS = 1500
_ADMIN = "the-admin's-own"
_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
}


class SecureBroker:
    """What tests ask of it; alice has the marker as her password, and no rights."""

    def __init__(self, process: BrokerProcess, folder: Path) -> None:
        self.process = process
        self.address = process.address
        self.ca = authority().certificate
        self.folder = folder
        port = json.loads(process.ready_line)["http_port"]
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        self._admin = AdminClient(self.options("admin", _ADMIN, "PLAIN"))

    def options(
        self, user: str = "alice", password: str = MARKER, by: str = "SCRAM-SHA-256"
    ) -> dict[str, str]:
        """Of a client, as librdkafka names them."""
        return {
            "bootstrap.servers": self.address,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": by,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.ca),
        }

    def client_file(self, path: Path, **changed: str) -> Path:
        """Those of alice in a file."""
        options = self.options() | {
            name.replace("_", "."): value for name, value in changed.items()
        }
        lines = [f"{name}={value}\n" for name, value in options.items()]
        path.write_text("".join(lines))
        path.chmod(0o600)
        return path

    def create(self, topic: str, partitions: int = 1) -> None:
        made = self._admin.create_topics([NewTopic(topic, partitions, 1)])
        made[topic].result(PATIENCE_S)

    def grant(self, kind: str, name: str, *operations: str) -> None:
        """Let alice do that with all names that begin so."""
        grant(self._admin, kind, name, *operations)

    def send(self, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
        from tests.pipeline import feeding

        options = self.options("admin", _ADMIN, "PLAIN")
        feeding.send(self.address, topic, values, partition, **options)

    def record_count(self, topic: str) -> int:
        """How many records, transactions' markers left out, one can read."""
        with self.cluster() as cluster:
            settle(cluster, topic)
            return len(list(records_in(cluster, topic, 0)))

    def login_count(self, outcome: str) -> int:
        """How many logins of alice were accepted, or made again."""
        found = self._scraped()["odradek_logins_total"]
        return int(found["SASL_SSL", "SCRAM-SHA-256", outcome])

    def ended_count(self) -> int:
        """How many connections were cut off, as their login had ended."""
        return int(self._scraped()["odradek_logins_ended_total"]["SASL_SSL",])

    def _scraped(self) -> Samples:
        with urllib.request.urlopen(self._metrics, timeout=PATIENCE_S) as answer:
            return read(answer.read().decode())

    def cluster(self) -> Cluster:
        """Of who may do everything."""
        security = read_security(self.options("admin", _ADMIN, "PLAIN"))
        address = Address("127.0.0.1", self.process.port)
        return Cluster([address], timeout_s=PATIENCE_S, security=security)


def grant(admin: AdminClient, kind: str, name: str, *operations: str) -> None:
    """Let alice do that with all names that begin so."""
    bindings = [
        AclBinding(
            _TYPES[kind],
            name,
            ResourcePatternType.PREFIXED,
            "User:alice",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    for done in admin.create_acls(bindings).values():
        done.result(PATIENCE_S)


@contextlib.contextmanager
def running_secure_broker(folder: Path) -> Iterator[SecureBroker]:
    """One with sessions of a moment, for the length of a module."""
    users = folder / "users"
    users.write_text(f"admin:{_ADMIN}\n")
    users.chmod(0o600)
    holder = server()
    options = [
        "listeners=SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        f"plain.users.file={users}",
        f"ssl.certificate.file={holder.certificate}",
        f"ssl.key.file={holder.key}",
        f"connections.max.reauth.ms={SESSION_MS}",
        "authorizer.class.name=acl",
        "super.users=User:admin",
        "log.retention.ms=-1",
        "http.listener=127.0.0.1:0",
        "logging.format=json",
    ]
    words = [word for option in options for word in ("-o", option)]
    with running_broker(folder / "data", *words) as process:
        broker = SecureBroker(process, folder)
        with broker.cluster() as cluster:
            set_password(cluster, "alice", MARKER, Mechanism.SCRAM_SHA_256)
        yield broker
        assert "Traceback" not in process.log()
        assert MARKER not in process.log()
