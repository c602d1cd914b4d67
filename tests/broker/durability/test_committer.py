import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from odradek.broker.durability.committer import (
    Committer,
    DirectoryCommitter,
)
from odradek.storage.files.files import StorageFailure
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

DIRECTORY = Path("/logs")


@dataclass(frozen=True)
class Durability:
    durability: str = "commit"
    durability_interval_ms: int = 1000


@dataclass
class FakeTicket:
    partition: "FakePartition"
    end: int
    with_snapshot: bool

    @property
    def is_plain(self) -> bool:
        return not self.with_snapshot


class FakePartition:
    """A log that is its end offset."""

    def __init__(self, name: str = "p") -> None:
        self.name = name
        self.end = self.synced = self.durable = self.snapshot = 0
        self.on_durable_hook: Callable[[], None] | None = None

    def append(self, count: int = 1) -> None:
        self.end += count

    def begin_sync(self, for_checkpoint: bool = False) -> FakeTicket | None:
        is_due = for_checkpoint and self.end > self.snapshot
        if self.end > self.synced or is_due:
            return FakeTicket(self, self.end, for_checkpoint)
        return None

    def finish_sync(self, ticket: FakeTicket) -> None:
        self.synced = ticket.end
        if ticket.with_snapshot:
            self.snapshot = ticket.end

    def on_durable(self) -> None:
        self.durable = self.synced
        note_change()
        if self.on_durable_hook is not None:
            self.on_durable_hook()


class SlowDisk:
    """A disk whose syncs end when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, int]]] = []
        self.error: Exception | None = None
        self._started = Event()
        self._gate = Event()

    def sync(self, tickets: Sequence[Any]) -> None:
        self.batches.append([(each.partition.name, each.end) for each in tickets])
        self._started.set()
        assert self._gate.wait(PATIENCE_S)
        self._gate.clear()
        if self.error is not None:
            raise self.error

    async def started(self) -> None:
        await asyncio.to_thread(self._started.wait, PATIENCE_S)
        self._started.clear()

    async def finish_one(self) -> None:
        """End the sync that is under way, and let the loop hear of it."""
        await self.started()
        self._gate.set()
        await asyncio.sleep(0)


class Fixture:
    def __init__(self, durability: str = "commit") -> None:
        self.clock = FakeClock()
        self.disk = SlowDisk()
        self.failures: list[tuple[Path, StorageFailure]] = []
        self.committer = Committer(
            self.clock, Durability(durability), lambda directory: self.disk.sync
        )
        self.committer.on_failure = self.on_failure
        self.directory: DirectoryCommitter = self.committer.for_directory(DIRECTORY)

    def on_failure(self, directory: Path, error: StorageFailure) -> None:
        self.failures.append((directory, error))
        note_change()


WAITING: list[asyncio.Event] = []


def note_change() -> None:
    for event in WAITING:
        event.set()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what a sync brings."""
    changed = asyncio.Event()
    WAITING.append(changed)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                changed.clear()
                await changed.wait()
    finally:
        WAITING.remove(changed)


@pytest.fixture
async def commit() -> AsyncIterator[Fixture]:
    fixture = Fixture()
    yield fixture
    fixture.committer.close()


@pytest.fixture
async def interval() -> AsyncIterator[Fixture]:
    fixture = Fixture("interval")
    yield fixture
    fixture.committer.close()


@pytest.fixture
async def none() -> AsyncIterator[Fixture]:
    fixture = Fixture("none")
    yield fixture
    fixture.committer.close()


async def test_one_sync_serves_everything_that_was_dirty(commit: Fixture) -> None:
    first, second = FakePartition("a"), FakePartition("b")
    for partition in (first, second):
        partition.append()
        commit.directory.mark_dirty(partition)
    assert not commit.directory.is_idle
    await commit.disk.finish_one()
    await until(lambda: first.durable == second.durable == 1)
    assert commit.directory.is_idle
    assert commit.disk.batches == [[("a", 1), ("b", 1)]]


async def test_what_comes_during_a_sync_is_in_the_next_and_not_before(
    commit: Fixture,
) -> None:
    partition, other = FakePartition("a"), FakePartition("b")
    partition.append()
    commit.directory.mark_dirty(partition)
    await commit.disk.started()
    partition.append()
    other.append()
    commit.directory.mark_dirty(partition)
    commit.directory.mark_dirty(other)
    assert len(commit.disk.batches) == 1
    commit.disk._started.set()
    await commit.disk.finish_one()
    await until(lambda: partition.durable == 1)
    assert other.durable == 0
    await commit.disk.finish_one()
    await until(lambda: partition.durable == 2)
    assert commit.disk.batches == [[("a", 1)], [("a", 2), ("b", 1)]]


async def test_the_next_sync_begins_before_waiters_are_woken(commit: Fixture) -> None:
    partition = FakePartition("a")
    partition.append()
    commit.directory.mark_dirty(partition)
    await commit.disk.started()
    partition.append()
    commit.directory.mark_dirty(partition)
    seen: list[bool] = []
    partition.on_durable_hook = lambda: seen.append(commit.directory._is_running)
    commit.disk._started.set()
    await commit.disk.finish_one()
    await until(lambda: bool(seen))
    assert seen == [True]
    await commit.disk.finish_one()


async def test_a_clean_partition_costs_no_sync(commit: Fixture) -> None:
    partition = FakePartition("a")
    commit.directory.mark_dirty(partition)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert commit.disk.batches == []
    partition.append()
    commit.directory.mark_dirty(partition)
    await commit.disk.finish_one()
    await until(lambda: partition.durable == 1)


async def test_interval_syncs_when_the_interval_is_over(interval: Fixture) -> None:
    partition = FakePartition("a")
    partition.append()
    interval.directory.mark_dirty(partition)
    interval.clock.advance(999)
    await asyncio.sleep(0)
    assert interval.disk.batches == []
    interval.clock.advance(1)
    await interval.disk.finish_one()
    await until(lambda: partition.durable == 1)
    assert interval.clock.timer_count == 0, "an idle broker has no timer"


async def test_none_syncs_only_what_is_asked_for(none: Fixture) -> None:
    wanted, other = FakePartition("a"), FakePartition("b")
    for partition in (wanted, other):
        partition.append()
        none.directory.mark_dirty(partition)
    assert none.clock.timer_count == 0
    none.directory.request_sync(wanted)
    await none.disk.finish_one()
    await until(lambda: wanted.durable == 1)
    assert none.disk.batches == [[("a", 1)]]


async def test_flush_returns_when_all_is_durable(none: Fixture) -> None:
    partition = FakePartition("a")
    partition.append()
    none.directory.mark_dirty(partition)
    flush = asyncio.create_task(none.committer.flush())
    await none.disk.finish_one()
    await flush
    assert partition.durable == 1
    await none.committer.flush()
    assert len(none.disk.batches) == 1, "nothing was dirty any more"


async def test_flush_does_not_trust_a_sync_that_began_before_it(
    commit: Fixture,
) -> None:
    partition = FakePartition("a")
    partition.append()
    commit.directory.mark_dirty(partition)
    await commit.disk.started()
    partition.append()
    commit.directory.mark_dirty(partition)
    flush = asyncio.create_task(commit.committer.flush())
    commit.disk._started.set()
    await commit.disk.finish_one()
    await until(lambda: partition.durable == 1)
    assert not flush.done()
    await commit.disk.finish_one()
    await flush
    assert partition.durable == 2


async def test_a_failed_sync_is_final(commit: Fixture) -> None:
    partition = FakePartition("a")
    partition.append()
    commit.disk.error = StorageFailure("the disk is gone")
    commit.directory.mark_dirty(partition)
    await commit.disk.finish_one()
    await until(lambda: bool(commit.failures))
    assert commit.failures == [(DIRECTORY, commit.disk.error)]
    assert commit.committer.failures == {DIRECTORY: commit.disk.error}
    assert (partition.synced, partition.durable) == (0, 0)
    commit.disk.error = None
    commit.directory.mark_dirty(partition)
    commit.directory.request_sync(partition)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(commit.disk.batches) == 1, "never retried"
    with pytest.raises(StorageFailure):
        await commit.directory.flush()
    await commit.committer.flush()


async def test_an_unknown_error_of_a_sync_is_a_failure_too(commit: Fixture) -> None:
    partition = FakePartition("a")
    partition.append()
    commit.disk.error = ZeroDivisionError()
    commit.directory.mark_dirty(partition)
    flush = asyncio.create_task(commit.directory.flush())
    await commit.disk.finish_one()
    with pytest.raises(StorageFailure, match="ZeroDivisionError"):
        await flush
    assert len(commit.failures) == 1


async def test_a_sync_that_cannot_begin_is_a_failure_too(
    commit: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = FakePartition()
    broken = StorageFailure("an index cannot be written")

    def begin_sync(for_checkpoint: bool = False) -> None:
        raise broken

    monkeypatch.setattr(partition, "begin_sync", begin_sync)
    partition.append()
    commit.directory.mark_dirty(partition)
    with pytest.raises(StorageFailure):
        await commit.directory.flush()
    assert commit.failures == [(DIRECTORY, broken)]


async def test_a_directory_that_is_not_there_is_no_bug(
    commit: Fixture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    partition = FakePartition()

    def begin_sync(for_checkpoint: bool = False) -> None:
        raise FileNotFoundError(2, "No such file or directory", "t-0/0.index")

    monkeypatch.setattr(partition, "begin_sync", begin_sync)
    partition.append()
    commit.directory.mark_dirty(partition)
    with pytest.raises(StorageFailure, match="No such file"):
        await commit.directory.flush()
    assert len(commit.failures) == 1
    assert "Traceback" not in caplog.text


async def test_a_sync_that_was_run_in_vain_is_a_failure_too(
    commit: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = FakePartition()
    gone = StorageFailure("the directory is gone")

    def finish_sync(ticket: FakeTicket) -> None:
        raise gone

    monkeypatch.setattr(partition, "finish_sync", finish_sync)
    partition.append()
    commit.directory.mark_dirty(partition)
    await commit.disk.finish_one()
    await until(lambda: bool(commit.failures))
    assert commit.failures == [(DIRECTORY, gone)]
    assert partition.durable == 0


async def test_failing_from_outside_stops_the_directory(commit: Fixture) -> None:
    error = StorageFailure("an append met EIO")
    commit.directory.fail(error)
    commit.directory.fail(StorageFailure("again"))
    assert commit.failures == [(DIRECTORY, error)]
