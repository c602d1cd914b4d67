"""Every call of librdkafka's admin client, as confluent-kafka has them."""

from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S

confluent = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

GROUP = "confluent-admin"


@pytest.fixture
def topic(topic: str) -> str:
    return f"confluent-{topic}"


@pytest.fixture
def client(broker: BrokerProcess) -> Any:
    return admin.AdminClient({"bootstrap.servers": broker.address})


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    return {key: future.result(PATIENCE_S) for key, future in futures.items()}


def code_of(future: Any) -> str:
    with pytest.raises(confluent.KafkaException) as refused:
        future.result(PATIENCE_S)
    name: str = refused.value.args[0].name()
    return name


@pytest.fixture
def written(client: Any, broker: BrokerProcess, topic: str) -> str:
    """A topic with four records in one partition."""
    done(client.create_topics([admin.NewTopic(topic, 1, 1)]))
    producer = confluent.Producer({"bootstrap.servers": broker.address})
    for _ in range(4):
        producer.produce(topic, b"x", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return topic


def test_topics(client: Any, topic: str) -> None:
    done(client.create_topics([admin.NewTopic(topic, 1, 1)]))
    done(client.create_partitions([admin.NewPartitions(topic, 3)]))
    assert len(client.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == 3
    names = confluent.TopicCollection([topic])
    assert len(done(client.describe_topics(names))[topic].partitions) == 3
    again = client.create_topics([admin.NewTopic(topic, 1, 1)])
    assert code_of(again[topic]) == "TOPIC_ALREADY_EXISTS"
    done(client.delete_topics([topic]))


def test_options(client: Any, topic: str) -> None:
    done(client.create_topics([admin.NewTopic(topic, 1, 1)]))

    def value(kind: Any, name: str, option: str) -> str:
        resource = admin.ConfigResource(kind, name)
        [shown] = done(client.describe_configs([resource])).values()
        found: str = shown[option].value
        return found

    of_topic = admin.ConfigResource.Type.TOPIC
    of_broker = admin.ConfigResource.Type.BROKER
    whole = admin.ConfigResource(of_topic, topic, {"retention.ms": "5000"})
    with pytest.deprecated_call():
        done(client.alter_configs([whole]))
    assert value(of_topic, topic, "retention.ms") == "5000"
    for kind, name, option in (
        (of_topic, topic, "segment.ms"),
        (of_broker, "1", "log.cleaner.backoff.ms"),
    ):
        for operation in ("SET", "DELETE"):
            entry = admin.ConfigEntry(
                option,
                "16000",
                incremental_operation=admin.AlterConfigOpType[operation],
            )
            change = admin.ConfigResource(kind, name, incremental_configs=[entry])
            done(client.incremental_alter_configs([change]))
            assert (value(kind, name, option) == "16000") == (operation == "SET")


def test_the_cluster(client: Any, written: str) -> None:
    described = client.describe_cluster().result(PATIENCE_S)
    assert [node.id for node in described.nodes] == [1]
    assert client.cluster_id(timeout=PATIENCE_S) == described.cluster_id
    place = confluent.TopicPartition(written, 0)
    elected = client.elect_leaders(confluent.ElectionType.PREFERRED, [place])
    [error] = elected.result(PATIENCE_S).values()
    assert error.name() == "ELECTION_NOT_NEEDED"


def test_records_and_groups(client: Any, written: str) -> None:
    place = confluent.TopicPartition(written, 0, 2)
    [deleted] = done(client.delete_records([place])).values()
    assert deleted.low_watermark == 2
    latest = {confluent.TopicPartition(written, 0): admin.OffsetSpec.latest()}
    [found] = done(client.list_offsets(latest)).values()
    assert found.offset == 4
    place.offset = 3
    commit = confluent.ConsumerGroupTopicPartitions(GROUP, [place])
    done(client.alter_consumer_group_offsets([commit]))
    asked = confluent.ConsumerGroupTopicPartitions(GROUP)
    [offsets] = done(client.list_consumer_group_offsets([asked])).values()
    assert [each.offset for each in offsets.topic_partitions] == [3]
    listed = client.list_consumer_groups().result(PATIENCE_S)
    assert GROUP in [each.group_id for each in listed.valid]
    with pytest.deprecated_call():
        groups = client.list_groups(timeout=PATIENCE_S)
    assert GROUP in [group.id for group in groups]
    described = done(client.describe_consumer_groups([GROUP]))[GROUP]
    assert described.state == confluent.ConsumerGroupState.EMPTY
    done(client.delete_consumer_groups([GROUP]))


def test_security(client: Any) -> None:
    user, mechanism = "confluent-user", admin.ScramMechanism.SCRAM_SHA_512
    info = admin.ScramCredentialInfo(mechanism, 4096)
    put = admin.UserScramCredentialUpsertion(user, info, b"secret")
    done(client.alter_user_scram_credentials([put]))
    described = done(client.describe_user_scram_credentials([user]))[user]
    [kept] = described.scram_credential_infos
    assert (kept.mechanism, kept.iterations) == (mechanism, 4096)
    drop = admin.UserScramCredentialDeletion(user, mechanism)
    done(client.alter_user_scram_credentials([drop]))
    missing = client.describe_user_scram_credentials([user])[user]
    assert code_of(missing) == "RESOURCE_NOT_FOUND"
    entry = (
        admin.ResourceType.TOPIC,
        "x",
        admin.ResourcePatternType.LITERAL,
        "User:x",
        "*",
        admin.AclOperation.READ,
        admin.AclPermissionType.ALLOW,
    )
    [created] = client.create_acls([admin.AclBinding(*entry)]).values()
    assert code_of(created) == "SECURITY_DISABLED"
    wanted = admin.AclBindingFilter(*entry)
    # librdkafka says nothing of the error here, whoever sends it.
    assert client.describe_acls(wanted).result(PATIENCE_S) == []
    [deleted] = client.delete_acls([wanted]).values()
    assert code_of(deleted) == "SECURITY_DISABLED"
