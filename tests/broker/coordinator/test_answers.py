"""Answers of a coordinator: kept until what they tell is durable, or refused."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.batches import batch_of
from odradek.broker.coordinator.decision import Decision, Place
from odradek.broker.coordinator.phase import Phase
from odradek.broker.coordinator.shard import Shard
from odradek.broker.replica.waiting.awaited_appends import AwaitedFrame
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    KafkaStorageError,
)
from tests.broker.coordinator.tally import (
    Counted,
    Tallies,
    TallyBroker,
    refuse,
    tally_broker,
)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[TallyBroker]:
    async with tally_broker(tmp_path) as made:
        yield made


async def test_answers_to_one_sync_wait_as_one(broker: TallyBroker) -> None:
    waiting = broker.replicas.manager.produces
    answers = [broker.add("a"), broker.add("a"), broker.read("a")]
    assert (waiting.delayed_count, waiting.watched_count) == (3, 1)
    await broker.replicas.commit()
    assert [answer.result() for answer in answers] == [1, 2, 2]
    assert waiting.delayed_count == 0


async def test_answers_of_several_shards_wait_for_one_sync(broker: TallyBroker) -> None:
    waiting = broker.replicas.manager.produces
    for key in "ab":
        broker.add(key)
    await broker.replicas.commit()  # their logs are there
    answers = [broker.add("a"), broker.add("b"), broker.read("a"), broker.add("a")]
    assert (waiting.delayed_count, waiting.watched_count) == (4, 0)
    assert not any(answer.done() for answer in answers)
    await broker.replicas.commit()
    assert [answer.result() for answer in answers] == [2, 2, 2, 3]
    assert waiting.delayed_count == 0


async def test_a_reader_waits_for_a_sync_that_has_begun(broker: TallyBroker) -> None:
    broker.add("a")
    await broker.replicas.commit()
    added = broker.add("a")
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    partition = broker.replicas.manager.partition(shard.topic_partition)
    ticket = partition.begin_sync()
    read = broker.read("a")  # no later sync is needed for what it tells
    assert broker.replicas.manager.produces.watched_count == 1
    ticket.run()
    partition.finish_sync(ticket)
    partition.on_durable()
    assert read.result() == 2
    await broker.replicas.commit()
    assert added.result() == 2


async def test_who_waits_for_a_sync_is_told_that_the_topic_is_gone(
    broker: TallyBroker,
) -> None:
    for key in "ab":
        broker.add(key)
    await broker.replicas.commit()
    shard = broker.runtime.shard(broker.runtime.partition_of("a"))
    gone, other = broker.add("a"), broker.add("b")
    await broker.replicas.manager.stop([shard.topic_partition])
    assert gone.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not other.done()
    await broker.replicas.commit()
    assert other.result() == 2


async def test_nothing_follows_what_is_not_durable(broker: TallyBroker) -> None:
    ran: list[str] = []
    answer = broker.add("a", then=lambda: ran.append("then"))
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    await asyncio.sleep(0)
    assert answer.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert ran == []


async def test_a_parked_answer_of_the_coordinator_passes_through(
    broker: TallyBroker,
) -> None:
    parked = Parked()

    def decide(state: Tallies) -> Decision:
        return Decision(parked, [Counted("a", 1)])

    assert broker.runtime.act("a", decide, refuse) is parked
    await broker.replicas.commit()
    assert not parked.done()


async def test_a_parked_answer_is_refused_after_a_failed_sync(
    broker: TallyBroker,
) -> None:
    parked, answered = Parked(), Parked()
    for answer in parked, answered:
        broker.runtime.act(
            "a", lambda _, it=answer: Decision(it, [Counted("a", 1)]), refuse
        )
    answered.set_result("earlier")
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert parked.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answered.result() == "earlier"


async def test_an_answer_that_raises_keeps_no_other_from_being_given(
    broker: TallyBroker,
) -> None:
    def raises(error: KafkaError) -> None:
        raise ZeroDivisionError

    first = broker.add("a", undo=raises)
    second = broker.read("a")
    broker.replicas.files.fail("sync", error=errno.EIO)
    broker.replicas.sync()
    assert first.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert second.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert [type(bug) for bug in broker.replicas.bugs] == [ZeroDivisionError]
    broker.replicas.bugs.clear()


async def test_a_whole_frame_is_kept_as_any_answer(broker: TallyBroker) -> None:
    shard = shard_with(broker)
    answer = shard.write_usual(*usual(broker, shard, "a"), b"frame", refuse)
    assert isinstance(answer, AwaitedFrame)
    assert not answer.done()
    assert shard.state.counts == {"a": 5}
    await broker.replicas.commit()
    assert answer.result() == b"frame"


async def test_a_frame_is_refused_after_a_failed_sync(broker: TallyBroker) -> None:
    shard = shard_with(broker)
    answer = shard.write_usual(*usual(broker, shard, "a"), b"frame", refuse)
    broker.replicas.log_of(shard.topic_partition).fail(KafkaStorageError())
    broker.replicas.manager.partition(shard.topic_partition).check_all_waiting()
    assert isinstance(answer, AwaitedFrame)
    assert answer.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shard.phase is Phase.FAILED


async def test_a_frame_whose_records_cannot_be_replayed_ends_the_shard(
    broker: TallyBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = shard_with(broker)

    def replay(record: Any, place: Place) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(shard.state, "replay", replay)
    answer = shard.write_usual(*usual(broker, shard, "a"), b"frame", refuse)
    assert isinstance(answer, KafkaError)
    assert answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shard.phase is Phase.FAILED
    assert broker.replicas.bugs
    broker.replicas.bugs.clear()


def shard_with(broker: TallyBroker) -> Any:
    """The shard of "a", whose log has begun: the first batch is none of the usual."""
    broker.add("a")
    return broker.runtime.shard(broker.runtime.partition_of("a"))


def usual(
    broker: TallyBroker, shard: Shard[Tallies], key: str
) -> tuple[memoryview, Callable[[int], None], int]:
    """The batch of a record, what replays it, and the time."""
    now_ms = broker.replicas.clock.now_ms()
    record = Counted(key, 5)

    def replay(offset: int) -> None:
        shard.state.replay(record, Place(offset, now_ms))

    return batch_of([(record, *record.encode())], None, now_ms), replay, now_ms
