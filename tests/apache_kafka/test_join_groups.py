"""Groups in a cluster of odradek and Apache Kafka, whose coordinators move."""

from base64 import b64decode
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicCollection

from odradek.broker.coordinator.placement import partition_for
from odradek.broker.coordinator.share.state import ShareKey, key_text
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.spread import (
    BROKERS,
    OPTIONS,
    OTHER,
    THEIRS,
    Spread,
    name_at,
    spread_brokers,
)
from tests.apache_kafka.test_join import US
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

# So that members are not waited for long.
QUICK_BEATS = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
}


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    coordinators = ("__consumer_offsets", "__share_group_state")
    root = tmp_path_factory.mktemp("joined")
    with spread_brokers(root, coordinators, OPTIONS | QUICK_BEATS) as made:
        yield made


def state_leaders(joined: Spread, topic: str) -> list[int]:
    """Who keeps the states of the share group that is named like the topic."""
    wanted = TopicCollection([topic])
    client = joined.admin(joined.kafka)
    told = client.describe_topics(wanted)[topic].result(PATIENCE_S)
    topic_id = b64decode(str(told.topic_id) + "==")
    return [
        BROKERS[
            partition_for(key_text(ShareKey(topic, topic_id, number)), len(BROKERS))
        ]
        for number in range(len(BROKERS))
    ]


def shared(joined: Spread, coordinator: int) -> str:
    """A topic of whose partitions one has leader, group and state at three brokers."""
    for number in range(100):
        name = name_at(coordinator, f"shared-{number}")
        joined.create(name)
        places = zip(BROKERS, state_leaders(joined, name), strict=True)
        if any(len({*each, coordinator}) == len(BROKERS) for each in places):
            return name
    raise AssertionError("no such topic")


@pytest.mark.parametrize(
    "coordinator", [US, pytest.param(THEIRS, marks=pytest.mark.long)]
)
def test_a_share_group_goes_on_whoever_leads(
    joined: Spread, java: JavaClient, coordinator: int
) -> None:
    """Nothing that was accepted comes again, and nothing is left out."""
    name = shared(joined, coordinator)
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
