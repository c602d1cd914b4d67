import pytest

from odradek.client.cluster import Cluster
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
    describe_configs,
)
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import InvalidConfig, UnknownTopicOrPartition
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.fakes.scripted import scripted_cluster

TOPIC = ConfigResourceType.TOPIC


def test_options_of_a_topic_are_changed_and_shown(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("configured", configs={"retention.ms": "1000"}))
    resource = ConfigResource(TOPIC, "configured")
    alter_configs(
        cluster,
        resource,
        [
            ConfigChange(Operation.SET, "segment.bytes", "2000000"),
            ConfigChange(Operation.APPEND, "cleanup.policy", "compact"),
            ConfigChange(Operation.DELETE, "retention.ms"),
        ],
    )
    found = {each.name: each for each in describe_configs(cluster, resource)}
    assert found["segment.bytes"].value == "2000000"
    assert found["segment.bytes"].source == "DYNAMIC_TOPIC_CONFIG"
    assert found["segment.bytes"].type == "INT"
    assert found["cleanup.policy"].value == "delete,compact"
    assert found["retention.ms"].is_default or found["retention.ms"].value == "-1"
    assert list(found) == sorted(found)
    (only,) = describe_configs(cluster, resource, ["segment.bytes"])
    assert only.synonyms[0][:2] == ("segment.bytes", "2000000")
    assert not only.is_default
    assert not only.documentation
    (told,) = describe_configs(
        cluster, resource, ["segment.bytes"], with_documentation=True
    )
    assert told.documentation


def test_what_is_only_checked_changes_nothing(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("checked"))
    resource = ConfigResource(TOPIC, "checked")
    change = [ConfigChange(Operation.SET, "retention.ms", "5000")]
    alter_configs(cluster, resource, change, validate_only=True)
    (entry,) = describe_configs(cluster, resource, ["retention.ms"])
    assert entry.value != "5000"
    bad = [ConfigChange(Operation.SET, "retention.ms", "soon")]
    with pytest.raises(InvalidConfig):
        alter_configs(cluster, resource, bad)
    with pytest.raises(UnknownTopicOrPartition):
        describe_configs(cluster, ConfigResource(TOPIC, "not-there"))


def test_a_broker_is_asked_itself() -> None:
    def answer(
        request: DescribeConfigsRequest, version: int
    ) -> DescribeConfigsResponse:
        entry = DescribeConfigsResourceResult(name="n", config_source=77)
        entry.config_type = 99
        result = DescribeConfigsResult(configs=[entry])
        return DescribeConfigsResponse(results=[result])

    with scripted_cluster(3) as script, script.client() as cluster:
        script.script(DescribeConfigsRequest, answer)
        resource = ConfigResource(ConfigResourceType.BROKER, "3")
        (entry,) = describe_configs(cluster, resource)
        assert (entry.source, entry.type) == ("77", "99")  # of a later Kafka
        for name in "", "9":
            describe_configs(cluster, ConfigResource(ConfigResourceType.BROKER, name))
        counts = [
            broker.asked_for(DescribeConfigsRequest)
            for broker in script.brokers.values()
        ]
        assert counts == [2, 0, 1]
