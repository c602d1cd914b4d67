"""Who may log in at Apache Kafka, and do what: made, some of it removed, and told."""

import time
from collections.abc import Sequence
from typing import Any

from odradek.client.acls import create_acls, delete_acls, describe_acls
from odradek.client.address import Address, parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.delegation_tokens import (
    Token,
    create_token,
    describe_tokens,
    expire_token,
)
from odradek.client.scram import (
    Mechanism,
    describe_users,
    remove_password,
    set_password,
)
from odradek.client.security.options import read_security
from odradek.protocol.acl_entries import AclEntry, AclFilter, PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import KafkaError
from tests.apache_kafka.secure_node import SecureKafka
from tests.patience import PATIENCE_S

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    # Some of it is then in a snapshot, some in the log behind it.
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}
SECRET = "hush"  # as SecureKafka has it
PASSWORDS = {"bob": "a pass, word=", "carol": "ünlocked", "gone": "x"}
LIFE_MS = 5 * 86_400_000


def entry(
    who: str,
    operation: Operation,
    name: str,
    kind: ResourceType = ResourceType.TOPIC,
    permission: Permission = Permission.ALLOW,
    host: str = "*",
) -> AclEntry:
    """One; a name with a star at its end is a prefix."""
    pattern = PatternType.PREFIXED if name[1:].endswith("*") else PatternType.LITERAL
    text = name.removesuffix("*") if pattern is PatternType.PREFIXED else name
    return AclEntry(kind, text, pattern, who, host, operation, permission)


ENTRIES = [
    entry("User:alice", Operation.ALL, "orders-*"),
    entry("User:*", Operation.DESCRIBE, "orders-*"),
    entry("User:*", Operation.READ, "orders-secret", permission=Permission.DENY),
    entry("User:alice", Operation.ALL, "orders-far", host="192.0.2.1"),
    entry("User:bob", Operation.CREATE_TOKENS, "User:carol", ResourceType.USER),
    entry("User:bob", Operation.ALTER, "bobs"),
    entry("User:bob", Operation.READ, "app", ResourceType.GROUP),
    entry("User:ops", Operation.ALTER, "kafka-cluster", ResourceType.CLUSTER),
    entry("User:CN=x,O=y", Operation.WRITE, "etl*", ResourceType.TRANSACTIONAL_ID),
]
GONE = [
    entry("User:bob", Operation.ALL, "*"),
    entry("User:*", Operation.ALL, "orders-*", permission=Permission.DENY),
]


def fill(kafka: SecureKafka) -> dict[str, Any]:
    """Make users, entries and tokens, remove some; what there is at the end."""
    tokens = []
    with Cluster([Address("127.0.0.1", kafka.port)], timeout_s=PATIENCE_S) as cluster:
        create_acls(cluster, [*GONE, *ENTRIES])
        for user, password in PASSWORDS.items():
            set_password(cluster, user, "before", Mechanism.SCRAM_SHA_512)
            set_password(cluster, user, password, Mechanism.SCRAM_SHA_512)
        set_password(cluster, "bob", PASSWORDS["bob"], Mechanism.SCRAM_SHA_256)
        _until(lambda: len(describe_acls(cluster)) == len(ENTRIES) + len(GONE))
        tokens += _tokens(kafka)
        delete_acls(cluster, [_exactly(each) for each in GONE])
        remove_password(cluster, "gone", Mechanism.SCRAM_SHA_512)
        remove_password(cluster, "bob", Mechanism.SCRAM_SHA_256)
        _until(lambda: len(describe_acls(cluster)) == len(ENTRIES))
        _until(lambda: "gone" not in describe_users(cluster).found)
        found = describe_users(cluster).found
        acls = describe_acls(cluster)
    return {
        "written_at_ms": int(time.time() * 1000),
        "secret": SECRET,
        "passwords": {name: PASSWORDS[name] for name in ("bob", "carol")},
        "users": {
            name: [each.mechanism for each in credentials]
            for name, credentials in found.items()
        },
        "acls": [list(map(_plain, each)) for each in acls],
        "tokens": [{**each._asdict(), "hmac": each.hmac.value} for each in tokens],
    }


def _tokens(kafka: SecureKafka) -> Sequence[Token]:
    """One of bob, one that he makes for carol; a third ends."""
    options = kafka.client_options("SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-512")
    options |= {"sasl.username": "bob", "sasl.password": PASSWORDS["bob"]}
    servers = parse_addresses(options["bootstrap.servers"])
    security = read_security(options)
    with Cluster(servers, security=security, timeout_s=PATIENCE_S) as cluster:
        _until(lambda: not _ids(cluster))  # then bob is known
        mine = create_token(cluster, None, [("User", "alice")], LIFE_MS)
        carols = create_token(cluster, ("User", "carol"), [], LIFE_MS)
        ended = create_token(cluster)
        _until(lambda: _ids(cluster) >= {mine.token_id, ended.token_id})
        expire_token(cluster, ended.hmac, -1)
        _until(lambda: ended.token_id not in _ids(cluster))
    return mine, carols


def _ids(cluster: Cluster) -> set[str]:
    return {each.token_id for each in describe_tokens(cluster)}


def _exactly(each: AclEntry) -> AclFilter:
    return AclFilter(
        each.resource_type,
        each.resource_name,
        each.pattern_type,
        each.principal,
        each.host,
        each.operation,
        each.permission,
    )


def _plain(value: int | str) -> int | str:
    return value if isinstance(value, str) else int(value)


def _until(is_so: Any) -> None:
    """Wait: Kafka's controller has decided, and its broker follows."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            if is_so():
                return
        except KafkaError:
            pass
        assert time.monotonic() < end_s
        time.sleep(0.05)
