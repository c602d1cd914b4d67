"""A real process, on a real directory."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.upkeep.compaction.cleaning_process import (
    NICENESS,
    Answers,
    ProcessCleaner,
)
from odradek.storage.cleaner.plan import CleanedSegment, DamageFound
from odradek.storage.files.files import OsFiles
from tests.fakes.cleaner import ThreadCleaner
from tests.patience import PATIENCE_S
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


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uv"]
)
def test_what_a_process_writes_is_read_and_its_pipe_closed_once(
    cleaner: Kind, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Once more, and it was a file that has got the number meanwhile."""

    async def read(process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        number = process.stdout.fileno()
        answers = Answers(process)
        assert await answers.messages.read() == b"answer\n"
        answers.close()
        assert os.open(os.devnull, os.O_RDONLY) == number
        for _ in range(10):
            await asyncio.sleep(0)
        answers.close()
        os.close(number)  # fails if somebody else has closed it

    with (
        subprocess.Popen(["echo", "answer"], stdout=subprocess.PIPE) as process,
        asyncio.Runner(loop_factory=new_loop) as runner,
    ):
        runner.run(read(process))


async def test_the_loop_is_given_no_pipe(
    tmp_path: Path, cleaner: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvloop closes the descriptor of one twice."""

    async def refused(*_: object) -> None:
        raise AssertionError

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "connect_read_pipe", refused)
    monkeypatch.setattr(loop, "connect_write_pipe", refused)
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))
    end = await cleaner(OsFiles(), threads).clean(plan, never, lambda: False)
    threads.close()
    assert end is None


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
        "odradek.broker.upkeep.compaction.cleaning_process._WORKER",
        "storage.no_such_module",
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


async def test_a_process_that_nobody_wants_any_more_does_not_complain(
    tmp_path: Path, cleaner: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed before its pipe is closed; else it may find that closed."""
    codes: list[int] = []

    class Noted(Answers):
        def __init__(self, process: subprocess.Popen[bytes]) -> None:
            super().__init__(process)
            self.process = process

        def close(self) -> None:
            codes.append(self.process.wait(PATIENCE_S))
            super().close()

    module = "odradek.broker.upkeep.compaction.cleaning_process"
    monkeypatch.setattr(f"{module}.Answers", Noted)
    threads = DiskThreads(1)
    plan = plan_of(log_in(tmp_path, TEXT))
    assert await cleaner(OsFiles(), threads).clean(plan, never, lambda: False) is None
    threads.close()
    assert codes == ([-signal.SIGKILL] if cleaner is ProcessCleaner else [])


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
