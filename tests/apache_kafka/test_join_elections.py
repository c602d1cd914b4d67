"""Other brokers lead, again and again, under a producer with five requests in flight.

Nothing comes twice, or out of order. No broker is in trouble: all that a producer hears
is NOT_LEADER_OR_FOLLOWER. librdkafka begins a new epoch when it hears more, and sends
twice what the former leader had written and could not acknowledge.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import ElectionType, TopicPartition

from odradek.client.connection import Connection
from odradek.protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.apache_kafka.kept_history import SOON_AGAIN, read
from tests.apache_kafka.troubled import ALL_OURS, MIXED, Troubled, troubled_brokers
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

NAME, PARTITIONS, ELECTIONS = "moved", 6, 20
WAITING_MAX = 600


class Numbers:
    """Sends each number to every partition, as fast as they are taken."""

    def __init__(self, addresses: str) -> None:
        self.count = self.acknowledged = 0
        self.failed: list[str] = []
        options = {"bootstrap.servers": addresses, "enable.idempotence": True}
        patience = {"linger.ms": 0, "message.timeout.ms": 1000 * PATIENCE_S}
        self._producer = confluent_kafka.Producer(SOON_AGAIN | options | patience)

    def send_one(self) -> None:
        for partition in range(PARTITIONS):
            value = b"%d" % self.count
            self._producer.produce(NAME, value, None, partition, self._took)
        self.count += 1
        self._producer.poll(0.001)
        while len(self._producer) > WAITING_MAX:
            self._producer.poll(0.005)

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_S) == 0
        assert self.failed == []

    def _took(self, error: object, _: confluent_kafka.Message) -> None:
        if error:
            self.failed.append(str(error))
        else:
            self.acknowledged += 1


@contextmanager
def sent_meanwhile(numbers: Numbers) -> Iterator[None]:
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            numbers.send_one()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    numbers.flush()


def let_others_lead(at: Troubled, first: int) -> None:
    """Each partition gets another leader, the next of the brokers."""
    ids = [at.ids[(first + each) % len(at.ids)] for each in range(len(at.ids))]
    replicas = [
        [ids[(number + each) % len(ids)] for each in range(len(ids))]
        for number in range(PARTITIONS)
    ]
    partitions = [
        ReassignablePartition(partition_index=number, replicas=each)
        for number, each in enumerate(replicas)
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=NAME, partitions=partitions)]
    )
    with Connection("127.0.0.1", at.kafka.port) as connection:
        connection.request(request, AlterPartitionReassignmentsResponse)
    client = at.admin(at.kafka)
    places = [TopicPartition(NAME, number) for number in range(PARTITIONS)]

    def are_elected() -> bool:
        client.elect_leaders(ElectionType.PREFERRED, places).result(PATIENCE_S)
        found = client.list_topics(NAME, timeout=PATIENCE_S).topics[NAME].partitions
        return all(
            found[number].leader == each[0] for number, each in enumerate(replicas)
        )

    wait_until(are_elected, PATIENCE_S)


@pytest.mark.long
@pytest.mark.parametrize("ids", [ALL_OURS, MIXED], ids=["ours", "mixed"])
def test_nothing_comes_twice_when_leaders_change(
    tmp_path: Path, ids: Sequence[int]
) -> None:
    with troubled_brokers(tmp_path, ids) as at:
        at.create(NAME, PARTITIONS)
        wait_until(at.is_in_sync, PATIENCE_S)
        numbers = Numbers(at.addresses)
        with sent_meanwhile(numbers):
            for election in range(1, ELECTIONS + 1):
                before = numbers.acknowledged
                let_others_lead(at, election)
                wait_until(lambda: numbers.acknowledged > before + 300, PATIENCE_S)  # noqa: B023
                wait_until(at.is_in_sync, PATIENCE_S)
        for found in read(at.addresses, NAME, PARTITIONS):
            assert found == [*range(numbers.count)]
