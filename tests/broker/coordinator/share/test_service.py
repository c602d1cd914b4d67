"""The share coordinator on a log: durable before it is answered, there afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.share.state import (
    NO_EPOCH,
    ShareKey,
    StateBatch,
    StateSummary,
    StateUpdate,
)
from odradek.broker.metadata.topic_names import SHARE_GROUP_STATE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    KafkaStorageError,
    NotCoordinator,
    UnknownTopicOrPartition,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas
from tests.patience import PATIENCE_S

COUNT = 6


class Client:
    """What others ask of the coordinator, and the syncs that they wait for."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.states = broker.services.share_states

    @property
    def topic_id(self) -> bytes:
        topic = self.broker.topics.get("t")
        assert topic is not None
        return topic.topic_id

    def key(self, partition: int = 0) -> ShareKey:
        return ShareKey("g", self.topic_id, partition)

    def keys(self) -> list[ShareKey]:
        return [self.key(number) for number in range(COUNT)]

    async def told(self, answer: Any) -> Any:
        if not isinstance(answer, Parked):
            return answer
        async with asyncio.timeout(PATIENCE_S):
            while not answer.done():  # the catalogue is on a disk
                await self.broker.commit()
                await asyncio.sleep(0)
        return answer.result()

    async def begin(self, *keys: ShareKey, start: int = 0, epoch: int = 1) -> Any:
        starts = dict.fromkeys(keys or self.keys(), start)
        return await self.told(self.states.initialise(starts, epoch, dict))

    def write(self, start: int, *batches: StateBatch, partition: int = 0) -> Any:
        update = StateUpdate(NO_EPOCH, NO_EPOCH, start, batches)
        return self.states.write(self.key(partition), update)

    def read(self, partition: int = 0) -> Any:
        return self.states.read(self.key(partition), NO_EPOCH)


@asynccontextmanager
async def client(
    directory: Path, files: FakeFiles | None = None, **options: Any
) -> AsyncIterator[Client]:
    options.setdefault("share_coordinator_state_topic_num_partitions", 3)
    async with replicas(directory, files, **options) as broker:
        if broker.topics.get("t") is None:
            await broker.create_topic("t", COUNT)
        yield Client(broker)
        if broker.services.share_states_in_use is not None:
            await broker.services.share_states.close()


async def loaded(it: Client) -> None:
    it.states.load_all()
    await it.states.runtime.loaded()


async def test_its_topic_is_made_by_who_begins(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert not it.states.has_topic
        assert it.states.is_loaded
        with pytest.raises(NotCoordinator):
            it.states.partition_of(it.key())
        assert await it.begin() == dict.fromkeys(it.keys())
        topic = it.broker.topics.get(SHARE_GROUP_STATE)
        assert topic is not None
        assert topic.is_internal
        assert len(topic.partitions) == 3
        assert it.states.partition_of(it.key()).topic == SHARE_GROUP_STATE
        assert it.states.is_loaded


async def test_several_may_begin_at_once(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        answers = [
            it.states.initialise({it.key(number): number}, 1, dict)
            for number in range(3)
        ]
        for number, answer in enumerate(answers):
            assert await it.told(answer) == {it.key(number): None}
            assert it.read(number).start == number


async def test_who_cannot_make_the_topic_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: Any) -> None:
        raise KafkaStorageError

    async with client(tmp_path) as it:
        monkeypatch.setattr(it.broker.topics, "create_topics", refuse)
        answer = it.states.initialise({it.key(): 0}, 1, dict)
        assert isinstance(answer, Parked)
        results = await answer
        assert isinstance(results[it.key()], CoordinatorNotAvailable)
        assert not it.states.has_topic


async def test_without_the_topic_nothing_is_known(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        key = it.key()
        assert isinstance(it.read(), InvalidRequest)
        assert isinstance(it.write(1), InvalidRequest)
        assert it.states.summarise([key], dict) == {key: StateSummary()}
        assert it.states.delete([key], dict) == {key: None}
        it.states.upkeep()
        assert it.states.forget_topic("t", it.topic_id)


async def test_an_answer_is_durable(tmp_path: Path) -> None:
    files = FakeFiles()
    async with client(tmp_path, files, stops_cleanly=False) as it:
        await it.begin()
        answer = it.write(5, StateBatch(7, 8, 2, 1))
        assert isinstance(answer, Parked)
        assert not answer.done()
        read = it.read()
        assert isinstance(read, Parked), "what it tells is not durable yet"
        assert await it.told(answer) is None
        assert read.result().start == 5
        before = it.read()
        lost = it.write(6)
        assert not lost.done()
    files.power_cut()
    async with client(tmp_path, files) as it:
        assert isinstance(it.read(), CoordinatorLoadInProgress)
        await loaded(it)
        assert it.read() == before
        assert before == (1, 0, 5, 2, ((7, 8, 2, 1),))


async def test_what_was_not_written_is_told(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.begin()
        answer = it.write(5)
        it.broker.files.fail("sync")
        assert isinstance(await it.told(answer), KafkaError)
        assert isinstance(it.write(6), CoordinatorNotAvailable)
        assert isinstance(it.read(), CoordinatorNotAvailable)
        summary = it.states.summarise([it.key()], dict)
        assert isinstance(summary[it.key()], CoordinatorNotAvailable)


async def test_each_partition_of_a_group_is_answered(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        unknown = ShareKey("g", b"?" * 16, 0)
        await it.begin(epoch=2)
        results = await it.begin(*it.keys()[:2], unknown, start=4, epoch=1)
        assert isinstance(results[it.key(0)], FencedStateEpoch)
        assert isinstance(results[unknown], UnknownTopicOrPartition)
        assert await it.begin(*it.keys()[:2], start=4, epoch=3) == {
            it.key(0): None,
            it.key(1): None,
        }
        found = it.states.summarise(it.keys()[1:3], dict)
        assert {key.partition: each.start for key, each in found.items()} == {
            1: 4,
            2: 0,
        }
        deleted = await it.told(it.states.delete(it.keys()[:2], dict))
        assert deleted == {it.key(0): None, it.key(1): None}
        assert isinstance(it.read(1), InvalidRequest)
        assert it.read(2).start == 0


async def test_who_has_a_share_partition_is_told_at_once(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        told: list[ShareKey] = []
        it.states.watchers.append(told.append)
        await it.begin(it.key())
        told.clear()
        answer = it.states.initialise({it.key(): 9}, 2, dict)
        assert told == [it.key()], "before it is answered"
        await it.told(answer)
        await it.told(it.write(10))
        assert told == [it.key()]
        it.states.delete([it.key()], dict)
        assert told == [it.key()] * 2


async def test_many_acknowledgements_leave_a_short_log(tmp_path: Path) -> None:
    """G027: 1,200 of them, with two snapshots and more; the rest is cut off."""
    files = FakeFiles()
    async with client(tmp_path, files) as it:
        await it.begin(it.key(), it.key(1))
        for number in range(1, 1201):
            it.write(number, StateBatch(number + 2, number + 2, 0, 1))
            if number % 100 == 0:
                await it.broker.commit()
        state = it.states.runtime.shard(it.states.partition_of(it.key()).partition)
        snapshot_epoch = state.state.states[it.key()].snapshot_epoch
        assert snapshot_epoch == 2
        it.broker.clock.advance(300_000)
        it.states.upkeep()
        await it.broker.commit()
        it.states.upkeep()
        await asyncio.sleep(0)
        partition = it.broker.manager.partition(it.states.partition_of(it.key()))
        assert partition.view.log_start_offset > 1000
        before = [it.read(number) for number in range(2)]
    async with client(tmp_path, files) as it:
        await loaded(it)
        assert [it.read(number) for number in range(2)] == before
        assert before[0].start == 1200
        partition = it.broker.manager.partition(it.states.partition_of(it.key()))
        assert partition.view.log_start_offset > 1000


async def test_nothing_is_cut_that_may_be_lost(tmp_path: Path) -> None:
    """One that has a new snapshot, which is not durable, behind another one's."""
    files = FakeFiles()
    options = {
        "share_coordinator_snapshot_update_records_per_snapshot": 0,
        "share_coordinator_state_topic_num_partitions": 1,
    }
    async with client(tmp_path, files, stops_cleanly=False, **options) as it:
        await it.begin(it.key(0))
        await it.begin(it.key(1))
        await it.told(it.write(1, partition=1))
        partition = it.broker.manager.partition(it.states.partition_of(it.key()))
        it.states.upkeep()
        assert partition.view.log_start_offset == 0
        await it.told(it.write(1))
        it.write(2)
        it.states.upkeep()
        await asyncio.sleep(0)
        assert partition.view.log_start_offset == 0
    files.power_cut()
    async with client(tmp_path, files, **options) as it:
        await loaded(it)
        assert [it.read(number).start for number in range(2)] == [1, 1]
        it.states.upkeep()
        await asyncio.sleep(0)
        partition = it.broker.manager.partition(it.states.partition_of(it.key()))
        assert partition.view.log_start_offset == 2


async def test_a_deleted_topic_is_forgotten(tmp_path: Path) -> None:
    files = FakeFiles()
    async with client(tmp_path, files) as it:
        await it.begin()
        assert it.states.forget_topic("t", it.topic_id)
        await it.broker.commit()
        assert isinstance(it.read(), InvalidRequest)
    async with client(tmp_path, files) as it:
        await loaded(it)
        assert not any(shard.state.states for shard in it.states.runtime.shards())


async def test_with_its_own_topic_goes_everything(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.begin()
        topic = it.broker.topics.get(SHARE_GROUP_STATE)
        assert topic is not None
        (deletion,) = await it.broker.topics.begin_deletions([topic.topic_id])
        assert it.states.forget_topic(SHARE_GROUP_STATE, deletion.topic_id)
        assert isinstance(it.read(), InvalidRequest)
        assert list(it.states.runtime.shards()) == []


async def test_who_stops_makes_no_topic_any_more(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        answer = it.states.initialise({it.key(): 0}, 1, dict)
        await it.states.close()
        assert isinstance(answer, Parked)
        with pytest.raises(asyncio.CancelledError):
            answer.result()
