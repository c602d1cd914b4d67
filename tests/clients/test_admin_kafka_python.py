"""Every call of kafka-python's admin client."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.broker_process import BrokerProcess

kafka = pytest.importorskip("kafka")
admin = pytest.importorskip("kafka.admin")
errors = pytest.importorskip("kafka.errors")
structs = pytest.importorskip("kafka.structs")

GROUP = "kafka-python-admin"


@pytest.fixture
def client(broker: BrokerProcess, collected: None) -> Iterator[Any]:
    made = admin.KafkaAdminClient(bootstrap_servers=broker.address)
    yield made
    made.close()


@pytest.fixture
def written(client: Any, broker: BrokerProcess, topic: str) -> Any:
    """A partition with four records."""
    client.create_topics([admin.NewTopic(topic, 1, 1)], wait_for_metadata=True)
    producer = kafka.KafkaProducer(bootstrap_servers=broker.address)
    for _ in range(4):
        producer.send(topic, b"x", partition=0).get(10)
    producer.close()
    return kafka.TopicPartition(topic, 0)


def of(kind: str, name: str, **configs: str | None) -> Any:
    dotted = {key.replace("_", "."): value for key, value in configs.items()}
    return admin.ConfigResource(
        admin.ConfigResourceType[kind], name, configs=dotted or None
    )


def test_topics(client: Any, topic: str) -> None:
    client.create_topics([admin.NewTopic(topic, 2, 1)])
    client.wait_for_topics([topic])
    client.create_partitions({topic: admin.NewPartitions(3)})
    assert topic in client.list_topics()
    [described] = client.describe_topics([topic])
    assert len(described["partitions"]) == 3
    [found] = client.describe_topic_partitions([topic])["topics"]
    assert len(found["partitions"]) == 3
    with pytest.raises(errors.TopicAlreadyExistsError):
        client.create_topics([admin.NewTopic(topic, 1, 1)])
    client.delete_topics([topic])
    assert topic not in client.list_topics()


def test_options(client: Any, topic: str) -> None:
    client.create_topics([admin.NewTopic(topic, 1, 1)])

    def value(kind: str, name: str, option: str) -> str | None:
        shown = client.describe_configs([of(kind, name)], config_filter="all")
        found: str | None = shown[kind.lower()][name][option]["value"]
        return found

    assert value("BROKER", "1", "num.partitions") == "1"
    client.alter_configs([of("TOPIC", topic, retention_ms="5000")])
    assert value("TOPIC", topic, "retention.ms") == "5000"
    whole = of("TOPIC", topic, segment_ms="6000")
    client.alter_configs([whole], incremental=False)
    assert value("TOPIC", topic, "segment.ms") == "6000"
    client.reset_configs([of("TOPIC", topic, segment_ms=None)])
    assert value("TOPIC", topic, "segment.ms") == "604800000"
    client.alter_configs([of("BROKER", "1", log_cleaner_backoff_ms="14000")])
    assert value("BROKER", "1", "log.cleaner.backoff.ms") == "14000"
    client.reset_configs([of("BROKER", "1", log_cleaner_backoff_ms=None)])
    listed = client.list_config_resources()
    assert topic in listed["topic"]
    assert listed["broker"] == ["1"]


def test_the_cluster(client: Any, written: Any) -> None:
    described = client.describe_cluster()
    assert [each["broker_id"] for each in described["brokers"]] == [1]
    [node] = client.describe_log_dirs()
    sizes = {
        (topic["name"], each["partition_index"]): each["partition_size"]
        for directory in node["log_dirs"]
        for topic in directory["topics"]
        for each in topic["partitions"]
    }
    assert sizes[tuple(written)] > 0
    elected = client.elect_leaders(0, {written.topic: [0]})
    [result] = elected.replica_election_results[0].partition_result
    assert result.error_code == errors.ElectionNotNeededError.errno
    assert client.alter_partition_reassignments({written: [1]}) == {written: None}
    assert client.list_partition_reassignments() == {}
    quorum = client.describe_metadata_quorum()
    assert quorum["topics"][0]["partitions"][0]["leader_id"] == 1
    features = client.describe_features()
    assert features["transaction.version"]["supported"] == (0, 2)
    assert client.update_features({"transaction.version": (1, 2)}) == {
        "transaction.version": "OK"
    }
    assert len(client.api_versions()) > 50
    assert str(client.get_broker_version_data("bootstrap-0"))


def test_records_and_groups(client: Any, written: Any) -> None:
    assert client.delete_records({written: 2})[written]["low_watermark"] == 2
    spec = {written: admin.OffsetSpec.LATEST}
    assert client.list_partition_offsets(spec)[written].offset == 4
    committed = structs.OffsetAndMetadata(3, "", -1)
    client.alter_group_offsets(GROUP, {written: committed})
    assert GROUP in [each["group_id"] for each in client.list_groups()]
    assert client.describe_groups([GROUP])[GROUP]["group_state"] == "Empty"
    assert client.list_group_offsets({GROUP: None})[GROUP][written].offset == 3
    earliest = {written: admin.OffsetSpec.EARLIEST}
    assert client.reset_group_offsets(GROUP, earliest)[written]["offset"] == 2
    client.delete_group_offsets(GROUP, [written])
    assert client.remove_group_members(GROUP, []) == {}
    assert client.delete_groups([GROUP]) == {GROUP: "OK"}


def test_transactions(client: Any, written: Any) -> None:
    [producer] = client.describe_producers([written])[written].active_producers
    assert producer.last_sequence == 3
    assert isinstance(client.list_transactions()[1], list)
    with pytest.raises(errors.TransactionalIdNotFoundError):
        client.describe_transactions(["nobody"])
    assert client.find_hanging_transactions() == []


def test_security(client: Any) -> None:
    user = "kafka-python-user"
    put = admin.UserScramCredentialUpsertion(
        user, "SCRAM-SHA-256", b"secret", iterations=4096
    )
    client.alter_user_scram_credentials([put])
    assert user in client.describe_user_scram_credentials()
    drop = admin.UserScramCredentialDeletion(user, "SCRAM-SHA-256")
    client.alter_user_scram_credentials([drop])
    assert user not in client.describe_user_scram_credentials()
    pattern = (admin.ResourceType.TOPIC, "x")
    wanted = admin.ACLFilter(
        None,
        "*",
        admin.ACLOperation.ANY,
        admin.ACLPermissionType.ANY,
        admin.ResourcePatternFilter(*pattern, admin.ACLResourcePatternType.ANY),
    )
    with pytest.raises(errors.SecurityDisabledError):
        client.describe_acls(wanted)
    entry = admin.ACL(
        "User:x",
        "*",
        admin.ACLOperation.READ,
        admin.ACLPermissionType.ALLOW,
        admin.ResourcePattern(*pattern),
    )
    assert client.create_acls([entry])["failed"] == [errors.SecurityDisabledError]
    [(_, _, error)] = client.delete_acls([wanted])
    assert error is errors.SecurityDisabledError
