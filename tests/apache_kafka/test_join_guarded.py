"""TLS, logins and an authorizer at all brokers: what these may ask of each other.

Those of odradek are no super users: they have what docs/cluster.md says that they need.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.client.connection import Connection
from odradek.client.security.options import read_security
from odradek.protocol.errors import ErrorCode
from odradek.protocol.schema import RESPONSES
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.spread import BROKERS, OPTIONS, OTHER, Spread, name_at
from tests.apache_kafka.test_join import US
from tests.apache_kafka.test_join_groups import QUICK_BEATS, shared
from tests.apache_kafka.test_join_secure import PROTOCOLS, SecureNode
from tests.broker_process import BrokerProcess
from tests.client.live import wait_until
from tests.fakes.requests_by_name import request_of
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.share_member import ShareAdmin
from tests.wire_compare import error_codes

pytestmark = pytest.mark.long

COORDINATORS = ("__transaction_state", "__consumer_offsets", "__share_group_state")
STRANGER = "stranger"
_PLAIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    f' username="{{0}}" password="{{0}}" user_us="us" user_them="them"'
    f' user_{STRANGER}="{STRANGER}";'
)
JAAS = "listener.name.inside.plain.sasl.jaas.config"
# By a login, or by the name in a certificate.
OURS = ("User:us", "User:O=Tests,CN=us", "User:CN=us,O=Tests")
ALL_OPTIONS = OPTIONS | QUICK_BEATS
ANY, CLUSTER, TOPIC = "*", "kafka-cluster", "t"
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:them;User:O=Tests,CN=them;User:CN=them,O=Tests;User:ANONYMOUS",
    "transaction.partition.verification.enable": "true",
}
# What brokers ask of each other, and of nobody else.
OF_BROKERS: list[tuple[int, int, dict[str, Any]]] = [
    (27, 1, {"markers": [{"topics": [{"name": TOPIC, "partition_indexes": [0]}]}]}),
    *(
        (api, 0, {"group_id": "g", "topics": [{"partitions": [{"partition": 0}]}]})
        for api in (83, 84, 85, 86, 87)
    ),
]


class Guarded(Spread):
    """A node of Kafka's and two brokers of ours, by TLS and logins."""

    def __init__(self, root: Path, kafka: SecureNode) -> None:
        usual = {name: ALL_OPTIONS[name] for name in ALL_OPTIONS if "group" in name}
        super().__init__(root, kafka, usual)
        self.inside = dict(zip((US, OTHER), free_ports(2), strict=True))
        for number, broker in ((US, self.ours), (OTHER, self.other)):
            config = root / f"broker-{number}.properties"
            self._guard(config, kafka, broker, self.inside[number])

    def _guard(
        self, config: Path, kafka: SecureNode, broker: BrokerProcess, inside: int
    ) -> None:
        options = {
            **PROTOCOLS,
            **GUARDED,
            **kafka.stores("us"),
            "listeners": f"PLAINTEXT://127.0.0.1:1,INSIDE://127.0.0.1:{inside}",
            JAAS: _PLAIN.format("us"),
        }
        config.touch(0o600)
        config.write_text("".join(f"{name}={options[name]}\n" for name in options))
        broker.options += ["--config", str(config)]

    def allow_ours(self) -> None:
        """What is said in docs/cluster.md, and nothing else."""
        wanted = [
            (admin.ResourceType.BROKER, CLUSTER, admin.AclOperation.CLUSTER_ACTION),
            (admin.ResourceType.BROKER, CLUSTER, admin.AclOperation.CREATE),
            (admin.ResourceType.TOPIC, ANY, admin.AclOperation.DESCRIBE),
        ]
        entries = [
            admin.AclBinding(
                kind,
                name,
                admin.ResourcePatternType.LITERAL,
                principal,
                "*",
                operation,
                admin.AclPermissionType.ALLOW,
            )
            for principal in OURS
            for kind, name, operation in wanted
        ]
        client = self.admin(self.kafka)
        for each in client.create_acls(entries).values():
            each.result(PATIENCE_S)


def refused_to_brokers(joined: Guarded) -> list[str]:
    """But for the question whether controllers have an authorizer at all."""
    return [
        line
        for node in (joined.kafka, joined.ours, joined.other)
        for line in node.log().splitlines()
        if (" is Denied " in line or "denied: " in line or "AUTHORIZATION" in line)
        and STRANGER not in line
        and "DescribeAcls" not in line
    ]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    root = tmp_path_factory.mktemp("guarded")
    kafka = SecureNode(root)
    kafka.configure(ALL_OPTIONS | GUARDED | {JAAS: _PLAIN.format("them")})
    made = Guarded(root, kafka)
    try:
        kafka.start()
        made.allow_ours()
        made.ours.start()
        made.other.start()
        wait_until(lambda: made.brokers(kafka) == set(BROKERS), PATIENCE_S)
        for name in COORDINATORS:
            policy = "delete" if "share" in name else "compact"
            made.create(name, cleanup_policy=policy)
        made.create(TOPIC)
        yield made
    finally:
        made.ours.kill()
        made.other.kill()
        kafka.kill()
    for broker in (made.ours, made.other):
        assert "Traceback" not in broker.log()
    assert refused_to_brokers(made) == []


@pytest.mark.parametrize("coordinator", BROKERS)
def test_transactions_go_over_all_brokers(joined: Guarded, coordinator: int) -> None:
    """They are verified where they are coordinated, and get their markers."""
    name = name_at(coordinator, "first")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": joined.kafka.address, "transactional.id": name}
    )
    producer.init_transactions(PATIENCE_S)
    for value in (b"kept", b"lost", b"more"):
        producer.begin_transaction()
        for number in range(len(BROKERS)):
            producer.produce(TOPIC, value, name, partition=number)
        if value == b"lost":
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": joined.ours.address,
            "group.id": name_at(coordinator, "readers"),
            "isolation.level": "read_committed",
        }
    )
    places = [confluent_kafka.TopicPartition(TOPIC, n, 0) for n in range(len(BROKERS))]
    consumer.assign(places)
    found: list[bytes | None] = []

    def has_all() -> bool:
        for each in consumer.consume(100, timeout=0.5):
            assert each.error() is None, each.error()
            if each.key() == name.encode():
                found.append(each.value())
        return len(found) >= 2 * len(BROKERS)

    wait_until(has_all, PATIENCE_S)
    consumer.commit(asynchronous=False)
    consumer.close()
    assert sorted(filter(None, found)) == [b"kept"] * 3 + [b"more"] * 3
    wait_until(joined.is_in_sync, PATIENCE_S)


def test_states_of_a_share_group_are_kept_at_other_brokers(
    joined: Guarded, java: JavaClient
) -> None:
    name = shared(joined, US)
    wait_until(joined.is_in_sync, PATIENCE_S)

    def back(broker_id: int) -> None:
        (joined.ours if broker_id == US else joined.other).start()
        joined.lead_again(broker_id)

    deeds = {
        "away": joined.ours.terminate,
        "back": lambda: back(US),
        "killed": joined.other.kill,
        "again": lambda: back(OTHER),
    }
    java.play_at(joined.kafka.address, "Shares", "moved", name, deeds)
    with ShareAdmin(joined.ours.address, name) as asked:
        wait_until(
            lambda: [x.lag for x in asked.places().values()] == [0] * len(BROKERS)
        )


@pytest.mark.parametrize(("api", "version", "values"), OF_BROKERS)
def test_who_is_no_broker_asks_none_of_that(
    joined: Guarded, api: int, version: int, values: dict[str, Any]
) -> None:
    """Neither of Apache Kafka nor of ours."""
    assert isinstance(joined.kafka, SecureNode)
    security = read_security(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": STRANGER,
            "sasl.password": STRANGER,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(joined.kafka.ca.certificate),
        }
    )
    for port in (joined.kafka.inside, joined.inside[US]):
        response_class: Any = RESPONSES[api]
        with Connection("127.0.0.1", port, security=security) as connection:
            connection.wait_for(PATIENCE_S)
            answer = connection.request(
                request_of(api, values), response_class, version
            )
        codes = error_codes(answer)
        assert set(codes) == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}, answer
