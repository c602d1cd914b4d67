"""A checkpoint goes over all partitions, and keeps nobody waiting for long."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from odradek.broker.durability.committer import SMALL_FILES_PER_SYNC
from tests.broker.durability.test_committer import FakePartition, Fixture, until


@pytest.fixture
async def commit() -> AsyncIterator[Fixture]:
    fixture = Fixture()
    yield fixture
    fixture.committer.close()


async def test_a_checkpoint_writes_snapshots_a_few_at_a_time(commit: Fixture) -> None:
    partitions = [FakePartition(f"p{number}") for number in range(20)]
    for partition in partitions:
        partition.append()
        commit.directory.mark_dirty(partition)
    await commit.disk.finish_one()
    await until(lambda: all(each.durable for each in partitions))
    assert not any(each.snapshot for each in partitions)

    checkpoint = asyncio.create_task(commit.committer.checkpoint())
    await asyncio.sleep(0)
    late = FakePartition("late")
    late.append()
    commit.directory.mark_dirty(late)
    await commit.disk.finish_one()
    await until(lambda: late.durable == 1)
    assert sum(each.snapshot for each in partitions) == SMALL_FILES_PER_SYNC
    await commit.disk.finish_one()
    await checkpoint
    assert all(each.snapshot == 1 for each in partitions)

    checkpoint = asyncio.create_task(commit.committer.checkpoint())
    await commit.disk.finish_one()
    await checkpoint
    assert commit.disk.batches[-1] == [("late", 1)], "the others have not changed"


async def test_a_checkpoint_passes_over_many_that_need_nothing(commit: Fixture) -> None:
    partitions = [FakePartition(f"p{number}") for number in range(1_000)]
    for partition in partitions:
        partition.append()
        commit.directory.mark_dirty(partition)
    await commit.disk.finish_one()
    await until(lambda: all(each.durable for each in partitions))
    for partition in partitions:
        partition.snapshot = partition.end
    await commit.committer.checkpoint()
    assert len(commit.disk.batches) == 1


async def test_a_checkpoint_syncs_what_nobody_waits_for_once() -> None:
    fixture = Fixture("none")
    syncs = 5
    partitions = [
        FakePartition(f"p{number}") for number in range(syncs * SMALL_FILES_PER_SYNC)
    ]
    for partition in partitions:
        partition.append()
        fixture.directory.mark_dirty(partition)
    checkpoint = asyncio.create_task(fixture.committer.checkpoint())
    for _ in range(syncs):
        await fixture.disk.finish_one()
    await checkpoint
    synced = [each for batch in fixture.disk.batches for each in batch]
    assert synced == [(each.name, 1) for each in partitions]
    assert all(each.snapshot == 1 for each in partitions)
    fixture.committer.close()
