"""A broker of Apache Kafka and two of odradek, and what each of them leads."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import confluent_kafka
from confluent_kafka import admin

from odradek.broker.coordinator.placement import partition_for
from odradek.broker.metadata.topic_names import SHARE_GROUP_STATE
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_join import US, Joined
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

THEIRS, OTHER = 1, 3
BROKERS = (THEIRS, US, OTHER)
REPLICAS = [[THEIRS, US], [US, THEIRS], [OTHER, US]]
OPTIONS = {
    "transaction.state.log.num.partitions": str(len(BROKERS)),
    "offsets.topic.num.partitions": str(len(BROKERS)),
    "share.coordinator.state.topic.num.partitions": str(len(BROKERS)),
    # One that was killed is away sooner; one that lives has many tries until then.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
}


class Spread(Joined):
    """A node of Kafka's, and two brokers of ours."""

    def __init__(
        self, root: Path, kafka: KafkaNode, options: Mapping[str, str]
    ) -> None:
        super().__init__(root, kafka)
        self.ours = self.broker(root / "data", **options)
        self.other = self.broker(root / "other", node_id=str(OTHER), **options)
        self.topics: list[str] = []

    def create(self, *names: str, **options: str) -> None:
        """Topics with a partition led by each broker, and another one's copy of it.

        What one of ours leads is copied by Kafka, what the other one leads by ours.
        """
        config = {name.replace("_", "."): value for name, value in options.items()}
        topics = [
            admin.NewTopic(
                name, len(BROKERS), replica_assignment=REPLICAS, config=config
            )
            for name in names
        ]
        client = self.admin(self.kafka)
        for each in client.create_topics(topics).values():
            each.result(PATIENCE_S)
        self.topics += names
        wait_until(self.is_in_sync, PATIENCE_S)

    def is_in_sync(self) -> bool:
        """Whether every replica of all partitions is."""
        topics = self.admin(self.kafka).list_topics(timeout=PATIENCE_S).topics
        return all(
            name in topics
            and set(topics[name].partitions[number].isrs) == set(replicas)
            for name in self.topics
            for number, replicas in enumerate(REPLICAS)
        )

    def lead_again(self, broker_id: int) -> None:
        """Have a broker lead what it is the first replica of, when all are in sync."""
        wait_until(self.is_in_sync, PATIENCE_S)
        number = BROKERS.index(broker_id)
        places = [confluent_kafka.TopicPartition(name, number) for name in self.topics]
        client = self.admin(self.kafka)
        client.elect_leaders(confluent_kafka.ElectionType.PREFERRED, places).result(
            PATIENCE_S
        )


@contextlib.contextmanager
def spread_brokers(
    root: Path, topics: Sequence[str], options: Mapping[str, str] = OPTIONS
) -> Iterator[Spread]:
    """Them, with ``topics`` of coordinators."""
    ours = {name: value for name, value in options.items() if "group" in name}
    with running_kafka(root, options) as kafka:
        made = Spread(root, kafka, ours)
        made.ours.start()
        made.other.start()
        try:
            wait_until(lambda: made.brokers(kafka) == set(BROKERS), PATIENCE_S)
            for name in topics:
                policy = "delete" if name == SHARE_GROUP_STATE else "compact"
                made.create(name, cleanup_policy=policy)
            yield made
        finally:
            made.ours.kill()
            made.other.kill()
        for broker in (made.ours, made.other):
            assert "Traceback" not in broker.log()


def name_at(broker_id: int, prefix: str) -> str:
    """A name whose records are led by that broker."""
    number = BROKERS.index(broker_id)
    return next(
        name
        for name in (f"{prefix}-{count}" for count in range(1000))
        if partition_for(name, len(BROKERS)) == number
    )
