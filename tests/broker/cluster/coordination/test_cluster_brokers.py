"""Who leads what, and who is asked for it."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.coordination.cluster_brokers import ClusterBrokers
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.share.questions import ReadState
from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.coordinator.transaction.marker_writer import Marker
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.memory.limits import LimitedLog
from odradek.client.address import Address
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
)
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
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

US, OTHER = 1, 2
A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
PRODUCER = ProducerIdentity(7, 3)


class World:
    """Two brokers; what the other one is asked is not answered as it should be."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.said: list[str] = []
        self.holds = False
        self.was_asked, self.has_left = threading.Event(), threading.Event()
        self.addresses: dict[int, Address] = {OTHER: Address("other", 9092)}
        self.source = SimpleNamespace(image=None)
        self.put(broker(OTHER))
        self.brokers = ClusterBrokers(
            US,
            self.source,
            self.addresses.get,
            self.connect,
            Bugs(),
            LimitedLog(FakeClock(), self.said.append),
        )

    def put(self, *others: Any) -> None:
        """Another image: the topic, us, and the other brokers."""
        self.source.image = state(
            broker(US),
            *others,
            topic("a"),
            partition("a", 0, US),
            partition("a", 1, OTHER),
            partition("a", 2, -1, OTHER),
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
        if self._world.holds:
            self._world.was_asked.set()
            self._world.has_left.wait(PATIENCE_S)
            raise ConnectionResetError
        if response_class is WriteTxnMarkersResponse:
            return WriteTxnMarkersResponse(markers=[])
        if response_class is ReadShareGroupStateResponse:
            return ReadShareGroupStateResponse(results=[])
        assert response_class is AddPartitionsToTxnResponse
        return AddPartitionsToTxnResponse(results_by_transaction=[])

    def hang_up(self) -> None:
        self._world.has_left.set()

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


async def test_what_share_groups_have_done_is_asked_by_group() -> None:
    world = World()
    keys = [ShareKey(group, b"t" * 16, 0) for group in "gh"]
    answers = [world.brokers.ask_state(OTHER, ReadState(key, 1)) for key in keys]
    for each in answers:
        assert (await each).code == ErrorCode.NETWORK_EXCEPTION
    assert world.asked == [("other", ReadShareGroupStateRequest)] * 2
    await world.brokers.close()
    assert world.brokers.leader_of(A1) is None, "nobody is asked any more"


async def test_who_is_asked_while_it_closes_keeps_nobody_from_that() -> None:
    world = World()
    first = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    (questions,) = world.brokers._questions.values()
    close, late = questions.close, []

    async def close_slowly() -> None:
        late.append(world.brokers.admit(OTHER + 1, Addition("u", PRODUCER, (A1,))))
        await close()

    questions.close = close_slowly  # type: ignore[method-assign]
    await world.brokers.close()
    assert (await first, await late[0]) == ({A1: 14}, {A1: 14})


async def test_nobody_is_asked_who_is_nowhere() -> None:
    world = World()
    world.addresses.clear()
    admitted = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    assert await admitted == {A1: 14}
    assert not world.asked
    await world.brokers.close()


async def test_who_is_fenced_is_waited_for_no_longer() -> None:
    """It hangs: what it led others lead by now, and nobody needs its answer."""
    world = World()
    world.holds = True
    asked = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    assert await asyncio.to_thread(world.was_asked.wait, PATIENCE_S)
    waiting = world.brokers.admit(OTHER, Addition("u", PRODUCER, (A1,)))
    world.brokers.look_again()
    assert not waiting.done()
    world.put(broker(OTHER, fenced=True))
    world.brokers.look_again()
    async with asyncio.timeout(PATIENCE_S):
        assert [await asked, await waiting] == [{A1: 14}, {A1: 14}]
    assert len(world.asked) == 1
    world.put()
    later = world.brokers.admit(OTHER, Addition("t", PRODUCER, (A1,)))
    assert await later == {A1: 14}
    assert len(world.asked) == 1
    assert "is fenced" in world.said[-1]
    await world.brokers.close()
