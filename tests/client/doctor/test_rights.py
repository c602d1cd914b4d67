"""What a client may do, and what would let it do more."""

from odradek.client.acls import create_acls, delete_acls
from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.doctor.rights import group_denied, who
from odradek.client.security.options import read_security
from odradek.client.topics import NewTopic, create_topic, delete_topic
from odradek.protocol.acl_entries import (
    AclEntry,
    AclFilter,
    PatternType,
    Permission,
)
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import CoordinatorNotAvailable, GroupAuthorizationFailed
from tests.patience import PATIENCE_S

from .conftest import failure, findings, login

Listeners = dict[str, Address]
SASL = {"security_protocol": "SASL_PLAINTEXT"}


def entry(operation: Operation, kind: ResourceType, name: str) -> AclEntry:
    return AclEntry(
        kind,
        name,
        PatternType.LITERAL,
        "User:alice",
        "*",
        operation,
        Permission.ALLOW,
    )


def test_what_may_be_done_is_told(listeners: Listeners) -> None:
    address = listeners["SASL_PLAINTEXT"]
    named = {name.replace("_", "."): x for name, x in (SASL | login("admin")).items()}
    with Cluster(
        [address], security=read_security(named), timeout_s=PATIENCE_S
    ) as cluster:
        create_topic(cluster, NewTopic("orders"))
        try:
            found = failure(address, **SASL, **login())
            assert found.check == "rights"
            assert found.detail.startswith("no topic is shown to User:alice")
            assert "odradek acl grant alice read,write topic" in found.advice

            create_acls(
                cluster, [entry(Operation.DESCRIBE, ResourceType.TOPIC, "orders")]
            )
            found = failure(address, **SASL, **login())
            assert found.detail == "User:alice may read 0 and write 0 of 1 topic"
            assert "None of orders: odradek acl grant alice" in found.advice

            create_acls(cluster, [entry(Operation.READ, ResourceType.TOPIC, "orders")])
            well = findings(address, **SASL, **login())
            assert all(each.is_ok for each in well)
            details = {each.check: each for each in well}
            assert "may read 1 and write 0 of 1 topic" in details["rights"].detail
            assert "may not use every group" in details["groups"].detail
            assert "odradek acl grant alice read group NAME" in (
                details["groups"].advice
            )
        finally:
            delete_topic(cluster, "orders")
            delete_acls(cluster, [AclFilter()])


def test_who_it_is(listeners: Listeners) -> None:
    named = {name.replace("_", "."): x for name, x in (SASL | login()).items()}
    assert who(read_security(named)) == "User:alice"
    assert who(None) == "User:ANONYMOUS"


def test_only_a_denial_is_one() -> None:
    assert group_denied("x", CoordinatorNotAvailable(), None) is None
    assert group_denied("x", GroupAuthorizationFailed(), None) is not None
