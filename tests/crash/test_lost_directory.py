"""T086: a broker with two log directories: one fails, is lost, or comes back."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.handlers.topics.topic_deletion import finish_deletions
from odradek.broker.node.server import Server
from odradek.protocol.errors import KafkaStorageError
from tests.crash.two_disks import ABSENT, OFFLINE, PARTITIONS, BadDiskFiles, Disks
from tests.fakes.broker import until


@pytest.fixture
async def disks(tmp_path: Path) -> AsyncIterator[Disks]:
    """A topic with two records in every partition, three of them on each disk."""
    disks = Disks(tmp_path)
    await disks.start()
    await disks.create("t")
    for _ in range(2):
        assert await disks.produce() == [0] * PARTITIONS
    assert sum(disks.on_bad()) == PARTITIONS // 2
    try:
        yield disks
    finally:
        await disks.stop()


def where(flags: list[bool], then: int, otherwise: int = 0) -> list[int]:
    return [then if flag else otherwise for flag in flags]


# It fails while the broker runs


@pytest.mark.parametrize("operation", ["append", "open", "sync", "rename", "any"])
async def test_t086_io_error_takes_one_dir_offline_others_serve(
    disks: Disks, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    """At an append, a roll, a sync, a checkpoint, or whatever comes first."""
    on_bad = disks.on_bad()
    disks.files.broken = operation
    answers = []
    for _ in range(3):
        answers.append(await disks.produce())
        await disks.server.services.replica_manager.checkpointer.write()
    assert disks.files.failure_count
    assert answers[-1] == where(on_bad, OFFLINE)
    assert all(error == 0 for row in answers for error in _of(row, on_bad, False))
    assert list(disks.server.services.committer.failures) == [disks.bad]
    reasons = [each for each in caplog.messages if "it broke" in each]
    assert len(reasons) == 1, reasons
    assert str(disks.bad) in reasons[0]
    if operation != "any":  # what was durable can be read
        counts = await disks.counts()
        assert min(counts) >= 2
        assert _of(counts, on_bad, False) == [5] * 3
    # What is new goes to the good one.
    await disks.create("new")
    assert await disks.produce("new") == [0] * PARTITIONS
    assert disks.on_bad("new") == [False] * PARTITIONS
    # It stays up, and a sound disk has everything that was acknowledged.
    await disks.restart()
    acknowledged = [2 + sum(row[n] == 0 for row in answers) for n in range(PARTITIONS)]
    found = await disks.counts()
    assert all(has >= told for has, told in zip(found, acknowledged, strict=True))
    assert await disks.produce() == [0] * PARTITIONS


def _of(row: list[int], flags: list[bool], flag: bool) -> list[int]:
    return [each for each, is_on in zip(row, flags, strict=True) if is_on is flag]


@pytest.mark.parametrize("is_written_to", [True, False])
@pytest.mark.parametrize("is_unmounted", [True, False])
async def test_t086_a_directory_that_is_removed_is_offline_and_not_made_anew(
    disks: Disks,
    is_unmounted: bool,
    is_written_to: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first roll, checkpoint or new partition finds out."""
    on_bad = disks.on_bad()
    shutil.rmtree(disks.bad)
    if is_unmounted:
        disks.bad.mkdir()
    if is_written_to:
        for _ in range(3):
            answers = await disks.produce()
            await disks.server.services.replica_manager.checkpointer.write()
        assert answers == where(on_bad, OFFLINE)
    await disks.create("new")
    await disks.produce("new")
    assert await disks.produce("new") == [0] * PARTITIONS
    assert list(disks.bad.glob("*")) == []
    assert disks.bad.exists() == is_unmounted
    assert await disks.delete("t") == OFFLINE
    await disks.stop()
    reasons = [each for each in caplog.messages if str(disks.bad) in each]
    assert len(reasons) == 1, reasons
    disks.config = replace(disks.config, log_dirs=(disks.good,))
    await disks.start()


async def test_t086_a_broker_without_any_sound_directory_stays_up(disks: Disks) -> None:
    disks.files.root = disks.bad.parent
    disks.files.broken = "sync"
    assert await disks.produce() == [OFFLINE] * PARTITIONS
    assert min(await disks.counts()) >= 2
    await disks.create("new")
    assert await disks.produce("new") == [OFFLINE] * PARTITIONS
    assert disks.server.services.committer.failures.keys() == {disks.bad, disks.good}
    await disks.restart()
    assert await disks.produce() == [0] * PARTITIONS


async def test_t086_a_log_that_cannot_be_loaded_is_offline_alone(disks: Disks) -> None:
    await disks.stop()
    victim = next(n for n, is_on in enumerate(disks.on_bad()) if is_on)
    path = disks.bad / f"t-{victim}"
    files = BadDiskFiles(path)
    files.broken = "listdir"
    disks.server = Server(disks.config, files=files)
    await disks.server.start()
    assert await disks.produce() == where([n == victim for n in range(6)], OFFLINE)
    assert (await disks.counts())[victim] == ABSENT
    assert (await disks.leaders())[victim] == -1
    await disks.restart()
    assert (await disks.counts())[victim] == 2


# It is not there at the start


@pytest.mark.parametrize("fault", ["file", "listdir"])
async def test_t086_a_directory_that_cannot_be_opened_comes_back_later(
    disks: Disks, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    on_bad = disks.on_bad()
    await disks.stop()
    aside = disks.bad.with_name("aside")
    if fault == "file":
        disks.bad.rename(aside)
        disks.bad.write_bytes(b"")
        await disks.start()
    else:
        disks.files = BadDiskFiles(disks.bad)
        disks.files.broken = "listdir"
        disks.server = Server(disks.config, files=disks.files)
        await disks.server.start()
    assert await disks.produce() == where(on_bad, OFFLINE)
    assert await disks.counts() == where(on_bad, ABSENT, 3)
    assert await disks.leaders() == where(on_bad, -1, 1)
    assert sum(str(disks.bad) in each for each in caplog.messages) == 1
    await disks.stop()
    if fault == "file":
        disks.bad.unlink()
        aside.rename(disks.bad)
    await disks.start()
    assert await disks.counts() == where(on_bad, 2, 3)
    assert await disks.produce() == [0] * PARTITIONS


async def test_t086_the_broker_refuses_to_start_without_any_directory(
    disks: Disks,
) -> None:
    await disks.stop()
    for path in (disks.bad, disks.good):
        path.rename(path.with_name(f"{path.name}-aside"))
        path.write_bytes(b"")
    server = Server(disks.config)
    with pytest.raises(KafkaStorageError, match="File exists"):
        await server.start()
    for path in (disks.bad, disks.good):
        path.unlink()
        path.with_name(f"{path.name}-aside").rename(path)
    await disks.start()
    assert await disks.counts() == [2] * PARTITIONS


async def test_a_lost_disk_never_makes_a_written_partition_empty(disks: Disks) -> None:
    on_bad = disks.on_bad()
    await disks.stop()
    shutil.rmtree(disks.bad)
    for _ in range(2):
        await disks.start()
        print(
            _,
            disks.on_bad(),
            list(disks.server.services.metadata.written_partitions()),
            disks.server.services.metadata.offline,
        )
        assert await disks.produce() == where(on_bad, OFFLINE)
        assert set(_of(await disks.counts(), on_bad, True)) == {ABSENT}
        assert await disks.leaders() == where(on_bad, -1, 1)
        assert disks.on_bad() == [False] * PARTITIONS
        await disks.stop()
    await disks.start()
    await disks.create("new")
    assert await disks.produce("new") == [0] * PARTITIONS
    assert any(disks.on_bad("new"))  # the new disk is used
    assert await disks.delete("t") == 0
    await disks.create("t")
    assert await disks.produce() == [0] * PARTITIONS
    await disks.restart()
    assert await disks.counts() == [1] * PARTITIONS


async def test_a_topic_made_anew_while_a_disk_was_away_keeps_its_records(
    disks: Disks, caplog: pytest.LogCaptureFixture
) -> None:
    """What the disk brings back of the old one is kept aside, and not served."""
    on_bad = disks.on_bad()
    await disks.stop()
    aside = disks.bad.with_name("aside")
    disks.bad.rename(aside)
    disks.bad.write_bytes(b"")
    await disks.start()
    assert await disks.delete("t") == 0
    await disks.create("t")
    assert await disks.produce() == [0] * PARTITIONS
    await finish_deletions(disks.server.services)
    await disks.stop()
    disks.bad.unlink()
    aside.rename(disks.bad)
    await disks.start()
    assert await disks.counts() == [1] * PARTITIONS
    assert await disks.produce() == [0] * PARTITIONS
    kept = [path.name for path in disks.bad.iterdir() if path.name.endswith("-stray")]
    assert len(kept) == sum(on_bad)
    assert all(name in caplog.text for name in kept)
    services = disks.server.services
    # A disk thread removes what the deletion left.
    await until(lambda: not services.log_manager.unremoved_partitions)
    await until(lambda: services.groups.is_loaded)
    await finish_deletions(services)
    assert not services.metadata.deletions


async def test_a_topic_deleted_while_a_disk_was_away_is_deleted_there_too(
    disks: Disks,
) -> None:
    await disks.stop()
    aside = disks.bad.with_name("aside")
    disks.bad.rename(aside)
    disks.bad.write_bytes(b"")
    await disks.start()
    assert await disks.delete("t") == 0
    await disks.stop()
    disks.bad.unlink()
    aside.rename(disks.bad)
    await disks.start()
    assert disks.on_bad() == [False] * PARTITIONS
