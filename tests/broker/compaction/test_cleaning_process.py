"""A real process, on a real directory."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from odradek.broker.compaction.cleaning_process import NICENESS, ProcessCleaner
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.storage.cleaner.plan import CleanedSegment, DamageFound
from odradek.storage.files.files import OsFiles
from tests.fakes.cleaner import ThreadCleaner
from tests.storage.cleaner.test_worker import log_in, plan_of

TEXT = "a1 b1 a2 | b2 | z1"
pytestmark = pytest.mark.parametrize("cleaner", [ProcessCleaner, ThreadCleaner])
Kind = type[ProcessCleaner] | type[ThreadCleaner]


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.rglob("*.cleaned")]


def workers() -> list[int]:
    """The processes of ours that clean."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    children = " ".join(each.read_text() for each in tasks.glob("*/children"))
    return [
        int(pid)
        for pid in children.split()
        if b"cleaner.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


async def never(cleaned: CleanedSegment) -> None:
    raise AssertionError(cleaned)


async def test_a_round(tmp_path: Path, cleaner: Kind) -> None:
    threads = DiskThreads(1)
    taken: list[CleanedSegment] = []
    plan = plan_of(log_in(tmp_path, TEXT))

    async def take(cleaned: CleanedSegment) -> None:
        taken.append(cleaned)

    end = await cleaner(OsFiles(), threads).clean(plan, take, lambda: True)
    threads.close()
    assert end is not None
    assert (end.next_dirty_offset, end.stats.records_written) == (4, 2)
    assert [each.replaced for each in taken] == [(0, 3)]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
async def test_a_process_is_nicer_than_the_broker(
    tmp_path: Path, cleaner: Kind
) -> None:
    threads = DiskThreads(1)
    nicenesses: list[int] = []

    async def take(cleaned: CleanedSegment) -> None:
        nicenesses.extend(os.getpriority(os.PRIO_PROCESS, pid) for pid in workers())

    plan = plan_of(log_in(tmp_path, TEXT))
    assert await cleaner(OsFiles(), threads).clean(plan, take, lambda: True)
    threads.close()
    is_process = cleaner is ProcessCleaner
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert nicenesses == ([min(ours + NICENESS, 19)] if is_process else [])


async def test_one_that_ends_too_soon_is_told(
    tmp_path: Path, cleaner: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cleaner is not ProcessCleaner:
        return
    monkeypatch.setattr(
        "odradek.broker.compaction.cleaning_process._WORKER", "storage.no_such_module"
    )
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))
    with pytest.raises(RuntimeError, match="the cleaning process ended with 1"):
        await cleaner(OsFiles(), threads).clean(plan, never, lambda: True)
    threads.close()


async def test_nobody_wants_it_any_more(tmp_path: Path, cleaner: Kind) -> None:
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))
    end = await cleaner(OsFiles(), threads).clean(plan, never, lambda: False)
    threads.close()
    assert (end, leftovers(tmp_path)) == (None, [])


async def test_damage(tmp_path: Path, cleaner: Kind) -> None:
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))
    path = tmp_path / "topic-0" / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(DamageFound):
        await cleaner(OsFiles(), threads).clean(plan, never, lambda: True)
    threads.close()
    assert leftovers(tmp_path) == []


async def test_who_is_cancelled_leaves_nothing(tmp_path: Path, cleaner: Kind) -> None:
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))

    async def take(cleaned: CleanedSegment) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cleaner(OsFiles(), threads).clean(plan, take, lambda: True)
    threads.close()
    if cleaner is ProcessCleaner:
        assert leftovers(tmp_path) == []
