import asyncio
import threading

import pytest

from odradek.broker.runtime.disk_threads import DiskThreads
from tests.patience import PATIENCE_S


def thread_name() -> str:
    return threading.current_thread().name


def fail(message: str) -> None:
    raise OSError(message)


async def test_runs_in_a_named_thread_and_returns_the_result() -> None:
    threads = DiskThreads(2, "disk")
    try:
        assert await threads.run(divmod, 7, 2) == (3, 1)
        assert (await threads.run(thread_name)).startswith("disk-")
    finally:
        threads.close()


async def test_an_exception_reaches_the_waiter() -> None:
    threads = DiskThreads(1)
    try:
        with pytest.raises(OSError, match="no such disk"):
            await threads.run(fail, "no such disk")
        assert await threads.run(int, "5") == 5
    finally:
        threads.close()


async def test_starts_no_more_threads_than_are_needed() -> None:
    threads = DiskThreads(4, "lazy")
    try:
        for _ in range(10):
            assert await threads.run(thread_name) == "lazy-0"
    finally:
        threads.close()


async def test_jobs_run_beside_each_other_up_to_the_count() -> None:
    threads = DiskThreads(2)
    both = threading.Barrier(2)
    try:
        assert threads.is_idle
        jobs = asyncio.gather(
            threads.run(both.wait, timeout=PATIENCE_S),
            threads.run(both.wait, timeout=PATIENCE_S),
        )
        await asyncio.sleep(0)
        assert not threads.is_idle
        await jobs
        assert threads.is_idle
    finally:
        threads.close()


async def test_a_cancelled_waiter_leaves_the_job_running() -> None:
    threads = DiskThreads(1)
    gate = threading.Event()
    ended: list[int] = []

    def job() -> None:
        gate.wait(10)
        ended.append(1)

    try:
        task = asyncio.create_task(threads.run(job))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await threads.run(ended.append, 2)
        assert ended == [1, 2]
    finally:
        threads.close()


async def test_close_waits_for_jobs_and_refuses_new_ones() -> None:
    threads = DiskThreads(1)
    ended: list[int] = []
    threads.submit(lambda: ended.append(1), lambda result, error: None)
    threads.close()
    assert ended == [1]
    with pytest.raises(RuntimeError, match="closed"):
        threads.submit(lambda: None, lambda result, error: None)
