"""Coordinators that move from broker to broker, and what they may tell on the way."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.loading import Loader
from odradek.broker.coordinator.phase import Phase
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    NotCoordinator,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.tally import (
    TOPIC,
    Counted,
    Tallies,
    TallyBroker,
    refuse,
    tally_broker,
)
from tests.fakes.cluster import led_by
from tests.fakes.files import FakeFiles
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.patience import PATIENCE_S


def place_of(broker: TallyBroker, name: str) -> TopicPartition:
    return TopicPartition(TOPIC, broker.runtime.partition_of(name))


async def led(broker: TallyBroker) -> LedWithAnother:
    """Tallies of ``a``, one of which the other broker has."""
    first = broker.add("a")
    await broker.replicas.commit()
    assert first.result() == 1
    moving = LedWithAnother(broker.replicas, place_of(broker, "a"))
    moving.copy()
    return moving


async def elected(broker: TallyBroker) -> None:
    broker.runtime.load_all()
    broker.runtime.elect(place_of(broker, "a").partition)
    await broker.runtime.loaded()


async def test_what_is_loaded_is_told_when_others_have_it(tmp_path: Path) -> None:
    """A leader that comes after us would not know of the second one."""
    async with tally_broker(tmp_path) as broker:
        moving = await led(broker)
        broker.add("a")
        await broker.replicas.commit()
        moving.elect(US)
        await elected(broker)
        assert broker.state("a").counts == {"a": 2}
        told = broker.read("a")
        assert not told.done()
        assert broker.runtime.settled("a") is None
        moving.copy()
        assert told.result() == 2
        assert broker.runtime.settled("a") is broker.state("a")
        assert broker.read("a") == 2


async def test_who_leads_no_more_says_so_and_has_not_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with tally_broker(tmp_path) as broker:
        moving = await led(broker)
        state, waiting = broker.state("a"), broker.add("a")
        await broker.replicas.commit()
        assert not waiting.done()
        moving.elect(OTHER)
        assert waiting.result().code == ErrorCode.NOT_COORDINATOR
        assert isinstance(state.unloaded, NotCoordinator)
        broker.runtime.resign(place_of(broker, "a").partition)
        assert broker.read("a").code == ErrorCode.NOT_COORDINATOR
        assert not caplog.records
        moving.elect(US)
        await elected(broker)
        moving.copy()
        assert broker.read("a") == 2


async def test_too_few_in_sync_after_the_append_are_enough_for_it(
    tmp_path: Path,
) -> None:
    """Whoever leads next has it: to fail would keep the state from everybody."""
    async with tally_broker(tmp_path) as broker:
        await broker.replicas.topics.alter_options(
            TOPIC, lambda options: {**options, "min.insync.replicas": "2"}
        )
        moving = await led(broker)
        waiting = broker.add("a")
        moving.partition.view.log.visibility.raise_to(  # type: ignore[union-attr]
            moving.partition.view.log_end_offset
        )
        moving.partition.use_in_sync((US,), 99)
        assert not moving.partition.leadership.has_enough_in_sync
        moving.partition.check_all_waiting()
        assert waiting.result() == 2
        assert broker.runtime.shard(place_of(broker, "a")[1]).phase is Phase.ACTIVE


class HeldLoader(Loader):
    """A loader that goes on when the test lets it."""

    begun: asyncio.Event
    gate: asyncio.Event

    async def _read(self, offset: int) -> memoryview:
        self.begun.set()
        await self.gate.wait()
        return await super()._read(offset)


@pytest.mark.parametrize("is_elected_again", [False, True])
async def test_a_load_that_nobody_wants_any_more_comes_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_elected_again: bool
) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        broker.add("a")
        await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        HeldLoader.begun, HeldLoader.gate = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr("odradek.broker.coordinator.runtime.Loader", HeldLoader)
        broker.runtime.load_all()
        number = place_of(broker, "a").partition
        state = broker.state("a")
        async with asyncio.timeout(PATIENCE_S):
            await HeldLoader.begun.wait()
        broker.runtime.resign(number)
        if is_elected_again:
            broker.runtime.elect(number)
        HeldLoader.gate.set()
        await broker.runtime.loaded()
        assert not state.is_loaded
        _ = broker.state("a")  # hurries the one that is wanted
        await broker.runtime.loaded()
        assert broker.read("a") == 1
        assert broker.state("a") is not state


async def test_a_partition_that_was_given_to_others_is_not_loaded(
    tmp_path: Path,
) -> None:
    """The controllers know nothing of it, or of us in it."""
    async with tally_broker(tmp_path) as broker:
        partition = broker.replicas.manager.partition(place_of(broker, "a"))
        partition.make_follower(led_by(OTHER))
        answer: Any = broker.read("a")
        assert answer.code == ErrorCode.NOT_COORDINATOR
        broker.runtime.load_all()
        await broker.runtime.loaded()


async def test_who_asks_while_it_moves_begins_it_once(tmp_path: Path) -> None:
    """Whoever waits is told when a shard is closed, and may ask for it again."""
    async with tally_broker(tmp_path) as broker:
        moving = await led(broker)
        await elected(broker)
        number = place_of(broker, "a").partition
        state = broker.state("a")
        asked: list[Any] = []
        state.on_unloaded = lambda _: asked.append(broker.read("a"))  # type: ignore[method-assign]
        moving.elect(US)
        broker.runtime.elect(number)
        assert broker.runtime._wanted == [number]
        assert broker.state("a") is not state
        await broker.runtime.loaded()
        moving.copy()
        assert (len(asked), broker.read("a")) == (1, 1)


async def test_a_decision_that_is_old_already_elects_nobody(tmp_path: Path) -> None:
    async with tally_broker(tmp_path) as broker:
        moving = await led(broker)
        broker.runtime.load_all()
        moving.elect(OTHER)
        broker.runtime.elect(place_of(broker, "a").partition)
        assert broker.read("a").code == ErrorCode.NOT_COORDINATOR


async def test_a_shard_that_cannot_begin_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FakeFiles()
    async with tally_broker(tmp_path, files) as broker:
        for name in ("a", "b", "c", "d"):
            broker.add(name)
            await broker.replicas.commit()
    async with tally_broker(tmp_path, files) as broker:
        broken = place_of(broker, "a").partition

        def begin(state: Tallies) -> None:
            if state.shard.topic_partition.partition == broken:
                raise AssertionError("a bug")
            state.is_loaded = True

        monkeypatch.setattr(Tallies, "on_loaded", begin)
        broker.runtime.load_all()
        await broker.runtime.loaded()
        states = [shard.state.is_loaded for shard in broker.runtime.shards()]
        assert states.count(False) == 1
        assert len(broker.replicas.bugs) == 1
        broker.replicas.bugs.clear()


async def test_what_is_late_is_not_written_behind_the_next_one(tmp_path: Path) -> None:
    """What followed a decision of the shard before, when this broker leads again."""
    async with tally_broker(tmp_path) as broker:
        moving = await led(broker)
        late = broker.state("a").shard
        moving.elect(US)
        await elected(broker)
        undone: list[Any] = []
        decision = Decision(9, [Counted("a", 9)], undo=undone.append)
        with pytest.raises(CoordinatorNotAvailable):
            late.apply(decision, refuse)
        assert len(undone) == 1
        moving.copy()
        assert broker.read("a") == 1
