"""C021: a cluster moves from Apache Kafka to odradek and back, while it is in use.

Partitions are moved by AlterPartitionReassignments, those of coordinators as well. What
is in use are the producers, transactions and the group of `kept_history`: every
number is there once, in order.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import admin

from odradek.client.connection import Connection
from odradek.protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.apache_kafka.kafka_broker import KafkaBroker
from tests.apache_kafka.kept_history import history
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_join import Joined
from tests.apache_kafka.troubled import COORDINATORS, OPTIONS, PARTITIONS
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

# Nobody gets in trouble, and a slow machine is none.
_OF_TROUBLE = frozenset({"broker.session.timeout.ms", "replica.lag.time.max.ms"})
QUIET = {name: OPTIONS[name] for name in OPTIONS.keys() - _OF_TROUBLE}


class Moving(Joined):
    """Brokers of Apache Kafka and of odradek, and which of them have everything."""

    def __init__(self, root: Path, kafka: KafkaNode, count: int) -> None:
        self.kafka = kafka
        self.theirs = {1: kafka} | {
            number: KafkaBroker(root, number, kafka, QUIET)
            for number in range(11, 10 + count)
        }
        self.brokers_of_ours = {
            number: self.broker(root / f"ours-{number}", node_id=str(number), **QUIET)
            for number in range(2, 2 + count)
        }
        self.topics: dict[str, int] = {}
        self.ids: Sequence[int] = [*self.theirs]

    @property
    def addresses(self) -> str:
        """Of all brokers: clients are told who has what."""
        everybody = [*self.theirs.values(), *self.brokers_of_ours.values()]
        return ",".join(each.address for each in everybody)

    def replicas(self, number: int) -> list[int]:
        """Who has a partition; the first one is to lead."""
        ids = self.ids
        return [ids[(number + each) % len(ids)] for each in range(len(ids))]

    def create(self, name: str, partitions: int, **options: str) -> None:
        topic = admin.NewTopic(
            name,
            partitions,
            replica_assignment=[self.replicas(each) for each in range(partitions)],
            config={key.replace("_", "."): value for key, value in options.items()},
        )
        client = self.admin(self.kafka)
        client.create_topics([topic])[name].result(PATIENCE_S)
        self.topics[name] = partitions

    def is_in_sync(self) -> bool:
        """Whether everything is where it belongs, and nowhere else."""
        topics = self.admin(self.kafka).list_topics(timeout=PATIENCE_S).topics
        wanted = set(self.ids)
        return all(
            name in topics
            and all(
                set(partition.isrs) == set(partition.replicas) == wanted
                for partition in topics[name].partitions.values()
            )
            for name in self.topics
        )

    def move(self, to: Sequence[int]) -> None:
        """Have everything moved; this does not wait."""
        self.ids = to
        request = AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(
                    name=name,
                    partitions=[
                        ReassignablePartition(
                            partition_index=number, replicas=self.replicas(number)
                        )
                        for number in range(count)
                    ],
                )
                for name, count in self.topics.items()
            ]
        )
        with Connection("127.0.0.1", self.kafka.port) as connection:
            answer = connection.request(request, AlterPartitionReassignmentsResponse)
        moved = [each for topic in answer.responses for each in topic.partitions]
        assert not any(each.error_code for each in (answer, *moved)), answer

    def there_and_back(self) -> Iterator[object]:
        """Two moves; the next one begins when all is where it is to be."""
        theirs, ours = [*self.theirs], [*self.brokers_of_ours]
        for to in (ours, theirs):
            yield self.move(to)


@contextlib.contextmanager
def moving_brokers(root: Path, count: int) -> Iterator[Moving]:
    """So many of each."""
    with running_kafka(root, QUIET) as kafka:
        made = Moving(root, kafka, count)
        others = [each for each in made.theirs.values() if each is not kafka]
        try:
            for each in others:
                each.start()
            for one in made.brokers_of_ours.values():
                one.start()
            everybody = {*made.theirs, *made.brokers_of_ours}
            wait_until(lambda: made.brokers(kafka) == everybody, PATIENCE_S)
            for name in COORDINATORS:
                made.create(name, PARTITIONS, cleanup_policy="compact")
            yield made
        finally:
            for one in made.brokers_of_ours.values():
                one.kill()
            for each in others:
                each.kill()
        for one in made.brokers_of_ours.values():
            assert "Traceback" not in one.log(), one.log()


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 3])
def test_c021_there_and_back(tmp_path: Path, count: int) -> None:
    with moving_brokers(tmp_path, count) as at:
        history(at, at.there_and_back())
