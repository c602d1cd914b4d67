"""Transactions on the runtime: a log, syncs, and the next broker that loads it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.runtime import CoordinatorRuntime
from odradek.broker.coordinator.transaction import end
from odradek.broker.coordinator.transaction.add_partitions import (
    Addition,
    decide_add_partitions,
)
from odradek.broker.coordinator.transaction.end import Ending, decide_end
from odradek.broker.coordinator.transaction.expiry import decide_timeouts
from odradek.broker.coordinator.transaction.init_producer import (
    Initialisation,
    decide_init_producer,
)
from odradek.broker.coordinator.transaction.shard import TransactionShard
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.transaction.rig import (
    A0,
    B0,
    ID,
    TIMEOUT_MS,
    FakeMarkerWriter,
    FakeProducerIds,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas

PRODUCER = ProducerIdentity(1000, 0)


class Coordinator:
    def __init__(self, fixture: Replicas) -> None:
        self.replicas = fixture
        self.markers = FakeMarkerWriter()
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            TRANSACTION_STATE,
            self._make_shard,
            topics=fixture.topics,
            replica_manager=fixture.manager,
            disk_threads=fixture.threads,
            clock=fixture.clock,
            bugs=fixture.services.bugs,
            load_buffer_size=1000,
        )

    def _make_shard(self, shard: Any) -> TransactionShard:
        config, clock = self.replicas.config, self.replicas.clock
        made = TransactionShard(shard, config, clock, FakeProducerIds(), self.markers)
        made.when_loaded.append(end.resume)
        return made

    def state(self) -> TransactionState:
        shard = self.runtime.shard(self.runtime.partition_of(ID))
        return shard.state.found(ID).state

    def act(self, decide: Any) -> Any:
        return self.runtime.act(ID, decide, _code)

    def init(self) -> Any:
        wanted = Initialisation(ID, TIMEOUT_MS)
        return self.act(lambda it: decide_init_producer(it, wanted, tuple, _code))

    async def ongoing(self) -> None:
        given = self.init()
        await self.commit()
        assert given.result() == PRODUCER
        addition = Addition(ID, PRODUCER, (A0, B0))
        added = self.act(lambda it: decide_add_partitions(it, addition, 0))
        await self.commit()
        assert added.result() == 0

    def end(self) -> Any:
        ending = Ending(ID, PRODUCER, is_commit=True)
        return self.act(lambda it: decide_end(it, ending, tuple))

    async def commit(self) -> None:
        """Everything is durable, and what follows has begun."""
        await self.replicas.commit()
        await asyncio.sleep(0)


def _code(error: KafkaError) -> int:
    return error.code


@contextlib.asynccontextmanager
async def coordinator(directory: Path, files: FakeFiles) -> AsyncIterator[Coordinator]:
    async with replicas(directory, files) as fixture:
        if fixture.topics.get(TRANSACTION_STATE) is None:
            await fixture.create_topic(TRANSACTION_STATE, 2, cleanup_policy="compact")
        made = Coordinator(fixture)
        made.runtime.load_all()
        await made.runtime.loaded()
        try:
            yield made
        finally:
            await made.runtime.close()
            assert not fixture.bugs, fixture.bugs


async def test_markers_follow_a_durable_decision(tmp_path: Path) -> None:
    async with coordinator(tmp_path, FakeFiles()) as broker:
        await broker.ongoing()
        answer = broker.end()
        await asyncio.sleep(0)
        assert not answer.done()
        assert not broker.markers.pending
        await broker.commit()
        assert answer.result() == PRODUCER
        (markers,) = broker.markers.finish()
        assert markers.partitions == (A0, B0)
        assert markers.coordinator.topic == TRANSACTION_STATE
        assert broker.state() is TransactionState.COMPLETE_COMMIT


async def test_the_next_broker_goes_on_with_what_was_prepared(tmp_path: Path) -> None:
    files = FakeFiles()
    async with coordinator(tmp_path, files) as broker:
        await broker.ongoing()
        broker.end()
        await broker.commit()
    async with coordinator(tmp_path, files) as broker:
        (markers,) = broker.markers.finish()
        assert markers.is_commit
        assert broker.state() is TransactionState.COMPLETE_COMMIT
        await broker.commit()
    async with coordinator(tmp_path, files) as broker:
        assert not broker.markers.pending
        assert broker.end() == PRODUCER  # once more: it has ended that way


async def test_a_decision_that_a_power_cut_takes_was_none(tmp_path: Path) -> None:
    files = FakeFiles()
    async with coordinator(tmp_path, files) as broker:
        await broker.ongoing()
        answer = broker.end()
        files.power_cut()
        assert not answer.done()
    async with coordinator(tmp_path, files) as broker:
        assert broker.state() is TransactionState.ONGOING
        assert not broker.markers.pending


async def test_a_sync_that_fails_leaves_the_decision_to_the_next_broker(
    tmp_path: Path,
) -> None:
    async with coordinator(tmp_path, FakeFiles()) as broker:
        await broker.ongoing()
        answer = broker.end()
        broker.replicas.files.fail("sync")
        await broker.commit()
        assert answer.result() == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert broker.init() == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert not broker.markers.pending


async def test_what_takes_too_long_is_aborted_by_a_periodic_job(tmp_path: Path) -> None:
    async with coordinator(tmp_path, FakeFiles()) as broker:
        await broker.ongoing()
        broker.replicas.clock.advance(TIMEOUT_MS + 1)
        broker.runtime.schedule(decide_timeouts)
        await asyncio.sleep(0)
        assert broker.state() is TransactionState.PREPARE_ABORT
        assert not broker.markers.pending
        await broker.commit()
        (markers,) = broker.markers.finish()
        assert (markers.is_commit, markers.producer_epoch) == (False, 1)
        assert broker.state() is TransactionState.COMPLETE_ABORT
