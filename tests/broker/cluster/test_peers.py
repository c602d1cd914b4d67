import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.peers import IsrCounts, Peers
from odradek.broker.quorum.image.image import (
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.errors import InvalidUpdateVersion
from odradek.protocol.messages.alter_partition import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

ID = b"t" * 16
WANTED = LeaderAndIsr(1, 3, (1, 2), (1, 2), 5)
LEADERSHIP = SimpleNamespace(replicas=SimpleNamespace(in_sync=(1,)))
IMAGE = MetadataImage(
    brokers={
        1: BrokerImage(1, 100, b"i" * 16, is_fenced=False),
        2: BrokerImage(2, 200, b"j" * 16, is_fenced=False),
        3: BrokerImage(3, 300, b"k" * 16, is_fenced=True),
        4: BrokerImage(4, 400, b"l" * 16, is_fenced=False, is_stopping=True),
    }
)


class FakeController:
    """Agrees, after as many failures as it is told."""

    broker_epoch = 100

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.error_codes: list[int] = []  # the next answers about the partition
        self.was_asked = asyncio.Event()
        self.asked: list[AlterPartitionRequest] = []

    async def alter_partitions(
        self, request: AlterPartitionRequest
    ) -> AlterPartitionResponse:
        self.asked.append(request)
        self.was_asked.set()
        if self.failures:
            self.failures -= 1
            raise ConnectionResetError
        partition = AlteredPartition(
            leader_id=1, leader_epoch=3, isr=[1, 2], partition_epoch=6
        )
        if self.error_codes:
            partition.error_code = self.error_codes.pop()
        topic = AlteredTopic(topic_id=ID, partitions=[partition])
        return AlterPartitionResponse(topics=[topic])


class ShortClock(FakeClock):
    """By which waits are over in the next turn."""

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(0)


@asynccontextmanager
async def peers(
    controller: FakeController,
    bugs: Bugs | None = None,
    clock: FakeClock | None = None,
) -> AsyncIterator[Peers]:
    source = SimpleNamespace(image=IMAGE)
    clock = clock or ShortClock()
    made = Peers(1, 30_000, source, controller, clock, bugs or Bugs())
    running = asyncio.get_running_loop().create_task(made.asked.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_who_is_alive_and_who_may_be_in_sync() -> None:
    async with peers(FakeController()) as made:
        assert [each for each in range(6) if made.is_alive(each)] == [1, 2, 4]
        assert made.may_be_in_sync(2, 200)
        assert made.may_be_in_sync(2, -1)
        assert not made.may_be_in_sync(2, 199)  # another start of it
        assert not made.may_be_in_sync(3, 300)
        assert not made.may_be_in_sync(4, 400)
        assert not made.may_be_in_sync(5, -1)


async def test_a_proposal_is_asked_for_until_somebody_answers() -> None:
    controller = FakeController(failures=2)
    heard = asyncio.get_running_loop().create_future()

    class Heard(Replication):
        def __init__(self) -> None:
            pass

        def on_answer(self, proposal: Any, answer: Any) -> None:
            heard.set_result((proposal, answer))

    partition: Any = SimpleNamespace(
        topic_id=ID,
        topic_partition=SimpleNamespace(partition=0),
        leadership=LEADERSHIP,
        replication=Heard(),
    )
    async with peers(controller) as made:
        made.alter_in_sync(partition, WANTED)
        proposal, answer = await heard
    assert proposal is WANTED
    assert answer == WANTED._replace(partition_epoch=6)
    assert len(controller.asked) == 3


async def test_what_was_recovered_is_reported() -> None:
    controller = FakeController()
    async with peers(controller) as made:
        made.note_recovered(ID, 0, WANTED)
        await controller.was_asked.wait()
    (asked,) = controller.asked[0].topics[0].partitions
    assert (asked.leader_recovery_state, asked.partition_epoch) == (0, 5)


async def test_who_is_refused_reports_it_again_while_it_is_to_be_reported() -> None:
    controller, clock = FakeController(), ShortClock()
    controller.error_codes = [107, 107]  # INELIGIBLE_REPLICA
    recovering = PartitionImage((1, 2), (1, 2), 1, 3, 5, leader_recovery_state=1)
    with_it = TopicImage("t", ID, {0: recovering})
    async with peers(controller, clock=clock) as made:
        made._source.image = IMAGE._replace(topics={ID: with_it})
        made.note_recovered(ID, 0, WANTED)
        for count in (1, 2):
            while not clock.timer_count:
                await clock.tick()
            assert len(controller.asked) == count
            if count == 2:  # the controllers have decided something else
                made._source.image = IMAGE
            await clock.tick(1_000)
        await clock.tick(10_000)
    assert len(controller.asked) == 2


async def test_a_request_that_cannot_be_made_ends_nothing() -> None:
    class Unregistered(FakeController):
        failing = 2

        @property
        def broker_epoch(self) -> int:  # type: ignore[override]
            self.failing -= 1
            if self.failing >= 0:
                raise AssertionError("a bug")
            return 100

    controller, bugs = Unregistered(), Bugs()
    async with peers(controller, bugs) as made:
        made.note_recovered(ID, 0, WANTED)
        await controller.was_asked.wait()
    assert bugs.count == 2


async def test_a_bug_in_one_answer_ends_nothing() -> None:
    controller, bugs = FakeController(), Bugs()
    told: list[Any] = []
    heard = asyncio.Event()

    class Broken(Replication):
        def __init__(self) -> None:
            pass

        def on_answer(self, proposal: Any, answer: Any) -> None:
            told.append(answer)
            heard.set()
            raise AssertionError("a bug")

    partition: Any = SimpleNamespace(
        topic_id=ID,
        topic_partition=SimpleNamespace(partition=0),
        leadership=LEADERSHIP,
        replication=Broken(),
    )
    async with peers(controller, bugs) as made:
        for _ in range(2):
            heard.clear()
            made.alter_in_sync(partition, WANTED)
            await heard.wait()
    assert (len(told), bugs.count) == (2, 2)


def test_what_became_of_proposals_is_counted() -> None:
    counts = IsrCounts()
    counts.note((1,), WANTED, WANTED)
    counts.note((1, 2), WANTED._replace(in_sync=(1,)), WANTED)
    counts.note((1, 2), WANTED, InvalidUpdateVersion())
    found = counts.expand_count, counts.shrink_count, counts.failed_count
    assert found == (1, 1, 1)
