import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.replica.logs.checkpointer import Checkpointer
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.files.files import StorageFailure


class FakeStorage:
    """The committer and the log manager, as far as checkpoints need them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.failures: dict[Path, Exception] = {}
        self.directories = [
            SimpleNamespace(path=Path("/logs"), failure=None),
            SimpleNamespace(path=Path("/failed"), failure=StorageFailure("gone")),
        ]

    def for_directory(self, directory: Path) -> SimpleNamespace:
        return SimpleNamespace(fail=partial(self.failures.__setitem__, directory))

    async def checkpoint(self) -> None:
        self.events.append("sync")
        await self.gate.wait()

    def checkpoint_job(self) -> Callable[[], None]:
        self.events.append("values")
        return self.write

    def log_starts_job(self, directories: list[Path]) -> Callable[[], None]:
        self.events += [str(each) for each in directories]
        return self.write

    def write(self) -> None:
        if self.error is not None:
            raise self.error
        self.events.append("write")


class Fixture:
    def __init__(self) -> None:
        self.storage: Any = FakeStorage()
        self.threads = DiskThreads(1)
        self.checkpointer = Checkpointer(self.storage, self.storage, self.threads, 100)


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    made = Fixture()
    yield made
    await made.checkpointer.close()
    made.threads.close()


async def test_the_logs_are_synced_before_it_is_written_how_far(
    fixture: Fixture,
) -> None:
    await fixture.checkpointer.write()
    assert fixture.storage.events == ["sync", "values", "write"]


async def test_enough_bytes_begin_a_round(fixture: Fixture) -> None:
    fixture.checkpointer.note_append(99)
    await asyncio.sleep(0)
    assert fixture.storage.events == []
    fixture.checkpointer.note_append(1)
    await fixture.checkpointer.close()
    assert fixture.storage.events == ["sync", "values", "write"]


async def test_there_is_one_round_at_a_time(fixture: Fixture) -> None:
    fixture.storage.gate.clear()
    first = asyncio.create_task(fixture.checkpointer.write())
    await asyncio.sleep(0)
    second = asyncio.create_task(fixture.checkpointer.write())
    fixture.checkpointer.note_append(1000)
    await asyncio.sleep(0)
    fixture.storage.gate.set()
    await asyncio.gather(first, second)
    assert fixture.storage.events == ["sync", "values", "write"]


async def test_a_failure_is_logged_and_the_next_round_tries_again(
    fixture: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    fixture.storage.error = KafkaStorageError("no room")
    await fixture.checkpointer.write()
    assert "no room" in caplog.text
    fixture.storage.error = None
    await fixture.checkpointer.write()
    assert fixture.storage.events[-1] == "write"


async def test_r6_a_sync_that_fails_is_final_here_too(fixture: Fixture) -> None:
    directory = Path("/logs")
    fixture.storage.error = DirectoryFailure(directory, StorageFailure("it broke"))
    await fixture.checkpointer.write()
    assert [(where, str(why)) for where, why in fixture.storage.failures.items()] == [
        (directory, "it broke")
    ]


async def test_log_starts_are_written_by_themselves(fixture: Fixture) -> None:
    await fixture.checkpointer.write_log_starts()
    assert fixture.storage.events == ["/logs", "write"]
    fixture.storage.error = DirectoryFailure(Path("/logs"), StorageFailure("it broke"))
    await fixture.checkpointer.write_log_starts()
    assert list(fixture.storage.failures) == [Path("/logs")]
