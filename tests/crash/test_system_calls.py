"""R6, R7: the n-th call to the file system fails, for every n, below a whole broker.

The broker stays up, every request is answered, and no error is unexpected. After a
power cut, and after a stop, everything that was acknowledged is there. When it was a
sync that failed, nothing is acknowledged any more, and what was durable can be read.
"""

import errno
import os
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode, KafkaStorageError
from tests.crash.broker_life import (
    BrokerLife,
    delete_records,
    no_system_calls,
    read_all,
)
from tests.fakes.files import FakeFiles

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
STRIDE = 1 if IS_LONG else 41
ERRORS = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EMFILE", "EINTR")}
SYNCS = ("sync", "sync_directory")


@pytest.fixture(autouse=True)
def _only_fake_files(monkeypatch: pytest.MonkeyPatch) -> None:
    no_system_calls(monkeypatch)


async def calls_of_a_life(directory: Path) -> FakeFiles:
    """What a life without faults asks of its files."""
    files = FakeFiles()
    life = BrokerLife(directory, files)
    await life.start()
    await life.live()
    await life.stop()
    assert life.memory.deleted_below == 2
    assert len(life.memory.acknowledged) == len(life.memory.sent)
    return files


async def live(life: BrokerLife) -> bool:
    """With a fault ahead. Returns whether the broker started at all."""
    try:
        await life.start()
    except (KafkaStorageError, OSError):
        return False
    await life.live()
    await life.is_up()
    return True


async def survive(directory: Path, files: FakeFiles) -> None:
    life, aside = BrokerLife(directory / "data", files), directory / "aside"
    crashed = None
    if await live(life):
        crashed = await life.keep_crashed(aside)
        await life.stop()
    files.heal()
    await life.next_life(files).check_after_restart()
    if crashed is not None:
        await life.next_life(crashed, aside).check_after_restart()


@pytest.mark.parametrize("name", ERRORS)
async def test_r7_any_call_fails(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = await calls_of_a_life(tmp_path / "whole")
    call_count = sum(files.counts.values())
    first = 1 + list(ERRORS).index(name) * STRIDE // len(ERRORS)
    for nth in range(first, call_count + 2, STRIDE):
        files = FakeFiles()
        files.fail(nth=nth, error=ERRORS[name])
        try:
            await survive(tmp_path / str(nth), files)
            assert not [each.getMessage() for each in caplog.records if each.exc_info]
            caplog.clear()
        except BaseException as error:
            error.add_note(f"call {nth} of {call_count}, {name}: {files.failed}")
            raise


class SyncLife(BrokerLife):
    """Sees to it that nothing is acknowledged when a sync has failed."""

    async def produce(self, topic: str = "t") -> bool:
        had_failed = self.has_failed
        is_acknowledged = await super().produce(topic)
        # A checkpoint may fail right behind the answer, before we look.
        if had_failed or any("checkpoint" not in path.name for path in self.failed):
            assert not is_acknowledged
        return is_acknowledged

    @property
    def failed(self) -> list[Path]:
        """Of what a sync has failed."""
        return [path for _, path in self.files.failed]

    @property
    def has_failed(self) -> bool:
        """Whether the sync that was to fail has been asked for."""
        return bool(self.files.failed)

    async def check_reads(self) -> None:
        """What was durable before can be read, and nothing behind it."""
        memory = self.memory
        if not memory.acknowledged:
            return
        found, log_start = await self.ask(read_all)
        assert found.items() <= memory.acknowledged.items()
        memory.check(found, log_start)


@pytest.mark.parametrize("operation", SYNCS)
async def test_r6_any_sync_fails(tmp_path: Path, operation: str) -> None:
    files = await calls_of_a_life(tmp_path / "whole")
    for nth in range(1, files.counts[operation] + 1, max(1, STRIDE // 8)):
        files = FakeFiles()
        files.fail(operation, nth=nth)
        life = SyncLife(tmp_path / str(nth), files)
        try:
            if not await live(life):
                continue
            if life.has_failed:
                await fail_for_good(life)
            await life.stop()
            await life.next_life(files).check_after_restart()
        except BaseException as error:
            error.add_note(f"{operation} {nth}: {files.failed}")
            raise


async def fail_for_good(life: SyncLife) -> None:
    """The directory has failed: no sync is tried again, reads go on."""
    assert life.server.services.committer.failures
    counts = {each: life.files.counts[each] for each in SYNCS}
    for _ in range(3):
        assert not await life.produce()
    await life.checkpoint()
    assert counts == {each: life.files.counts[each] for each in SYNCS}
    await life.check_reads()
    if life.memory.acknowledged:
        end = max(life.memory.acknowledged) + 1
        assert await life.ask(delete_records, end) == ErrorCode.KAFKA_STORAGE_ERROR
    await life.is_up()
