import pytest

from odradek.broker.adoption.metadata import ClusterMetadata
from odradek.broker.adoption.resources import AdoptedResources
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    ConfigResourceType,
    QuotaEntityData,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
    encode_metadata_record,
)
from odradek.protocol.schema import Message

BROKER = BrokerConfig()
NODE_ID = 3
MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def adopted(*messages: Message) -> AdoptedResources:
    metadata = ClusterMetadata()
    for message in messages:
        metadata.apply(encode_metadata_record(message))
    return AdoptedResources(metadata, NODE_ID, BROKER)


def option(
    kind: ConfigResourceType, resource: str, name: str, value: str | None
) -> Message:
    return ConfigRecord(
        resource_type=kind, resource_name=resource, name=name, value=value
    )


def quota(key: str, value: float, remove: bool = False, **names: str | None) -> Message:
    entity = [
        QuotaEntityData(entity_type=kind.replace("_", "-"), entity_name=name)
        for kind, name in names.items()
    ]
    return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)


def credential(user: str, mechanism: int) -> Message:
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism,
        salt=b"salt",
        stored_key=b"stored",
        server_key=b"server",
        iterations=4096,
    )


def test_quotas_are_those_that_are_left() -> None:
    found = adopted(
        quota("producer_byte_rate", 1.5e6, user="ann", client_id=None),
        quota("consumer_byte_rate", 7.0, user="ann", client_id=None),
        quota("consumer_byte_rate", 0.0, remove=True, user="ann", client_id=None),
        quota("connection_creation_rate", 5.0, ip="127.0.0.1"),
        quota("request_percentage", 50.0, client_id="gone"),
        quota("request_percentage", 0.0, remove=True, client_id="gone"),
    )
    ann = QuotaEntity.of({"user": "ann", "client-id": None})
    assert found.options == {
        ann.resource: {"producer_byte_rate": "1500000.0"},
        QuotaEntity.of({"ip": "127.0.0.1"}).resource: {
            "connection_creation_rate": "5.0"
        },
    }
    assert found.notes == []
    assert found.counted() == ["client quotas: 2"]


def test_users_keep_their_keys() -> None:
    found = adopted(
        credential("ann", 1),
        credential("ann", 2),
        credential("bob", 1),
        RemoveUserScramCredentialRecord(name="bob", mechanism=1),
        RemoveUserScramCredentialRecord(name="ann", mechanism=2),
        RemoveUserScramCredentialRecord(name="nobody", mechanism=2),
    )
    kept = found.options[Resource(ResourceKind.SCRAM, "ann")]
    assert list(kept) == [MECHANISMS[1]]
    expected = ScramCredential(4096, b"salt", b"stored", b"server")
    assert ScramCredential.read(kept[MECHANISMS[1]]) == expected
    assert len(found.options) == 1


def test_options_of_brokers_groups_and_metrics() -> None:
    broker, group = ConfigResourceType.BROKER, ConfigResourceType.GROUP
    found = adopted(
        option(broker, "", "log.retention.ms", "9"),
        option(broker, "", "log.cleaner.threads", "2"),
        option(broker, "", "log.cleaner.threads", None),
        option(broker, str(NODE_ID), "message.max.bytes", "1048576"),
        option(broker, "4", "log.retention.bytes", "11"),
        option(group, "g", "consumer.session.timeout.ms", "50000"),
        option(ConfigResourceType.CLIENT_METRICS, "m", "interval.ms", "1000"),
    )
    assert found.options == {
        Resource(ResourceKind.BROKER, ""): {"log.retention.ms": "9"},
        Resource(ResourceKind.BROKER, str(NODE_ID)): {"message.max.bytes": "1048576"},
        Resource(ResourceKind.GROUP, "g"): {"consumer.session.timeout.ms": "50000"},
        Resource(ResourceKind.CLIENT_METRICS, "m"): {"interval.ms": "1000"},
    }
    assert found.broker.log_retention_ms == 9
    assert len(found.notes) == 2  # one for each option of the broker
    assert found.counted() == [
        "broker options: 2",
        "group options: 1",
        "client metrics options: 1",
    ]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (quota("producer_byte_rate", 1.0, ip="::1"), "there is no such quota"),
        (quota("consumer_nap_rate", 1.0, user="x"), "there is no such quota"),
        (quota("producer_byte_rate", 1.0, planet="x"), "there are quotas of users"),
        (quota("producer_byte_rate", -1.0, user="x"), "a quota is more than 0"),
        (credential("ann", 3), "unknown"),
        (option(ConfigResourceType.BROKER, "", "listeners", "x"), "Cannot update"),
        (option(ConfigResourceType.BROKER, "", "to.come", "x"), "Unknown broker"),
        (option(ConfigResourceType.BROKER, "", "log.retention.ms", "x"), "x"),
        (
            option(ConfigResourceType.BROKER, "", "background.threads", "8"),
            "Means nothing here",
        ),
        (option(ConfigResourceType.GROUP, "g", "to.come", "x"), "to.come"),
        (option(ConfigResourceType.CLIENT_METRICS, "m", "to.come", "x"), "to.come"),
    ],
)
def test_what_has_no_place_is_told_in_a_line(message: Message, reason: str) -> None:
    found = adopted(message)
    assert found.options == {}
    (note,) = found.notes
    assert "is not carried over: " in note
    assert reason in note
    assert "\n" not in note


def test_without_metadata_there_is_nothing() -> None:
    found = AdoptedResources(None, NODE_ID, BROKER)
    assert (found.options, found.notes, found.counted()) == ({}, [], [])
