import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.topic_config import validate_topic_options
from odradek.broker.metadata.auto_create import new_topic
from odradek.broker.metadata.topic import NewTopic
from odradek.protocol.errors import InvalidTopic


def test_a_topic_gets_the_brokers_partitions() -> None:
    assert new_topic("a", BrokerConfig(num_partitions=7)) == NewTopic("a", 7, {})


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_topics_of_the_coordinators_are_compacted(name: str) -> None:
    topic = new_topic(name, BrokerConfig())
    assert topic.partition_count == 50
    assert topic.options["cleanup.policy"] == "compact"
    validate_topic_options(topic.options, BrokerConfig())


def test_what_share_groups_have_done_is_never_taken_away() -> None:
    topic = new_topic("__share_group_state", BrokerConfig())
    assert topic.partition_count == 50
    assert topic.options == {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "1",
        "retention.bytes": "-1",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }
    validate_topic_options(topic.options, BrokerConfig())


def test_an_illegal_name_is_not_made() -> None:
    with pytest.raises(InvalidTopic):
        new_topic("a b", BrokerConfig())
