import pytest

from odradek.client.cluster import Cluster
from odradek.client.quotas import Quotas, alter_quotas, describe_quotas
from odradek.protocol.errors import InvalidRequest

RATE = "producer_byte_rate"
ALICE = {"user": "alice"}


@pytest.fixture
def quotas(cluster: Cluster) -> Cluster:
    """A cluster without any."""
    for each in describe_quotas(cluster):
        alter_quotas(cluster, each.entity, dict.fromkeys(each.values))
    assert describe_quotas(cluster) == []
    return cluster


def test_quotas_are_set_and_removed(quotas: Cluster) -> None:
    alter_quotas(quotas, ALICE, {RATE: 1000.0, "request_percentage": 12.5})
    assert describe_quotas(quotas) == [
        Quotas(ALICE, {RATE: 1000.0, "request_percentage": 12.5})
    ]
    alter_quotas(quotas, ALICE, {RATE: None, "consumer_byte_rate": 5.0})
    (only,) = describe_quotas(quotas, ALICE)
    assert only.values == {"request_percentage": 12.5, "consumer_byte_rate": 5.0}


def test_names_come_before_defaults_and_users_before_clients(quotas: Cluster) -> None:
    entities: list[dict[str, str | None]] = [
        {"user": "alice"},
        {"user": "alice", "client-id": "app"},
        {"user": "alice", "client-id": None},
        {"user": "bob"},
        {"user": None},
        {"client-id": "app"},
        {"ip": "127.0.0.1"},
    ]
    for entity in reversed(entities):
        name = "connection_creation_rate" if "ip" in entity else RATE
        alter_quotas(quotas, entity, {name: 7.0})
    assert [each.entity for each in describe_quotas(quotas)] == entities
    of_alice = [each.entity for each in describe_quotas(quotas, ALICE)]
    assert of_alice == entities[:3]
    (only,) = describe_quotas(quotas, ALICE, strict=True)
    assert only.entity == ALICE
    (default,) = describe_quotas(quotas, {"user": None})
    assert default.entity == {"user": None}


def test_what_is_only_checked_changes_nothing(quotas: Cluster) -> None:
    alter_quotas(quotas, ALICE, {RATE: 1.0}, validate_only=True)
    assert describe_quotas(quotas) == []
    with pytest.raises(InvalidRequest):
        alter_quotas(quotas, ALICE, {"no_such_rate": 1.0}, validate_only=True)
