"""Who leads what, and who is asked for it."""

from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.coordination.cluster_brokers import ClusterBrokers
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.coordinator.transaction.marker_writer import Marker
from odradek.broker.runtime.bugs import Bugs
from odradek.client.address import Address
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from odradek.protocol.messages.txn_admin import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cluster.cluster_state import broker, partition, topic
from tests.broker.quorum.image.states import state

US, OTHER = 1, 2
A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
PRODUCER = ProducerIdentity(7, 3)


class World:
    """Two brokers; what the other one is asked is not answered as it should be."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.addresses: dict[int, Address] = {OTHER: Address("other", 9092)}
        image = state(
            broker(US),
            broker(OTHER),
            topic("a"),
            partition("a", 0, US),
            partition("a", 1, OTHER),
            partition("a", 2, -1, OTHER),
        )
        self.brokers = ClusterBrokers(
            US,
            SimpleNamespace(image=image),
            self.addresses.get,
            self.connect,
            Bugs(),
        )

    def connect(self, address: Address) -> Any:
        return Link(self, address)


class Link:
    api_versions: Any = {}  # noqa: RUF012 - nobody changes it

    def __init__(self, world: World, address: Address) -> None:
        self._world, self._address = world, address

    def wait_for(self, timeout_s: float) -> None:
        pass

    def request(self, request: Any, response_class: Any) -> Any:
        self._world.asked.append((self._address.host, type(request)))
        if response_class is WriteTxnMarkersResponse:
            return WriteTxnMarkersResponse(markers=[])
        assert response_class is AddPartitionsToTxnResponse
        return AddPartitionsToTxnResponse(results_by_transaction=[])

    def close(self) -> None:
        pass


def test_who_leads() -> None:
    brokers = World().brokers
    assert [brokers.leader_of(each) for each in (A0, A1, A2)] == [US, OTHER, None]
    gone = TopicPartition("a", 3), TopicPartition("b", 0)
    assert [brokers.leader_of(each) for each in gone] == [None, None]
    assert [brokers.has(each) for each in (A2, *gone)] == [True, False, False]


async def test_each_kind_is_asked_of_the_broker_that_is_named() -> None:
    world = World()
    markers = world.brokers.write_markers(OTHER, Marker(PRODUCER, True, 5, 2), (A1,))
    admitted = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    assert await markers == {A1: 13}
    assert await admitted == {A1: 14}
    assert sorted(world.asked, key=str) == [
        ("other", AddPartitionsToTxnRequest),
        ("other", WriteTxnMarkersRequest),
    ]
    await world.brokers.close()


async def test_nobody_is_asked_who_is_nowhere() -> None:
    world = World()
    world.addresses.clear()
    admitted = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    assert await admitted == {A1: 14}
    assert not world.asked
    await world.brokers.close()
