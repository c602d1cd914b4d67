import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from odradek.broker.durability.sync_waiters import SyncWaiters
from odradek.storage.files.files import StorageFailure
from tests.broker.durability.test_committer import (
    FakePartition,
    Fixture,
    note_change,
    until,
)


class Appends:
    """Notes what it is told."""

    def __init__(self, told: list[Any] | None = None) -> None:
        self.told: list[Any] = [] if told is None else told

    def add(self, partition: Any, append: Any) -> None:
        self.told.append((partition, append))

    def release(self) -> None:
        self.told.append("released")
        note_change()

    def hand_over(self, partition: Any) -> None:
        self.told.append(partition)


@pytest.fixture
async def commit() -> AsyncIterator[Fixture]:
    made = Fixture()
    yield made
    made.committer.close()


async def test_nobody_waits_at_first() -> None:
    waiters = SyncWaiters()
    assert not waiters
    waiters.hand_over("p")
    waiters.release(None)


async def test_appends_are_released_before_those_who_flush() -> None:
    waiters, appends = SyncWaiters(), Appends()
    waiters.awaited = appends
    assert waiters
    assert not waiters.have_flushes
    flushed = waiters.add_flush()
    assert waiters.have_flushes
    flushed.add_done_callback(appends.told.append)
    waiters.hand_over("p")
    waiters.release(None)
    await asyncio.sleep(0)
    assert appends.told == ["p", "released", flushed]


async def test_who_flushes_is_told_the_error_unless_he_is_gone() -> None:
    waiters = SyncWaiters()
    gone, flushed = waiters.add_flush(), waiters.add_flush()
    gone.cancel()
    waiters.release(StorageFailure("broken"))
    with pytest.raises(StorageFailure):
        await flushed


async def test_who_waits_for_a_sync_is_told_behind_its_partitions(
    commit: Fixture,
) -> None:
    told: list[Any] = []
    partition, later = FakePartition(), FakePartition("later")
    partition.on_durable_hook = lambda: told.append("durable")
    directory = commit.directory
    partition.append()
    directory.mark_dirty(partition)
    directory.waiters.awaited = Appends(told)
    await commit.disk.started()
    later.append()
    directory.mark_dirty(later)
    directory.waiters.awaited = Appends(told)  # the next one's business
    directory.hand_over(later)
    assert told == [later, later]
    commit.disk._gate.set()
    await until(lambda: len(told) == 4)
    assert told[2:] == ["durable", "released"]
    await commit.disk.finish_one()
    await until(lambda: len(told) == 5)


async def test_who_waits_is_released_when_there_is_nothing_to_sync(
    commit: Fixture,
) -> None:
    told: list[Any] = []
    partition = FakePartition()
    commit.directory.mark_dirty(partition)  # it has nothing that is not durable
    commit.directory.waiters.awaited = Appends(told)
    await until(lambda: bool(told))
    assert commit.disk.batches == []


async def test_who_waits_is_released_when_the_directory_fails(
    commit: Fixture,
) -> None:
    told: list[Any] = []
    commit.directory.waiters.awaited = Appends(told)
    commit.directory.fail(StorageFailure("broken"))
    assert told == ["released"]
    assert commit.failures
