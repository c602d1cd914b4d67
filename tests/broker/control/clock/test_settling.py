import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.control.clock.settling import Settling
from odradek.broker.operate.admin_socket import AdminError


def services() -> Any:
    return SimpleNamespace(
        scheduler=SimpleNamespace(running=[]),
        disk_threads=SimpleNamespace(is_idle=True),
        committer=SimpleNamespace(
            directories=[SimpleNamespace(is_idle=True, directory="/d")]
        ),
    )


async def test_it_waits_for_what_follows_from_what_follows() -> None:
    depth = 0

    def deeper() -> None:
        nonlocal depth
        depth += 1
        if depth < 10:
            asyncio.get_running_loop().call_soon(deeper)

    deeper()
    await Settling(services()).settle()
    assert depth == 10


def job(parts: Any) -> Callable[[], None]:
    parts.scheduler.running.append("retention")
    return parts.scheduler.running.clear


def thread(parts: Any) -> Callable[[], None]:
    parts.disk_threads.is_idle = False
    return lambda: setattr(parts.disk_threads, "is_idle", True)


def sync(parts: Any) -> Callable[[], None]:
    (committer,) = parts.committer.directories
    committer.is_idle = False
    return lambda: setattr(committer, "is_idle", True)


@pytest.mark.parametrize("begin", [job, thread, sync])
async def test_it_waits_for_all_that_is_under_way(
    begin: Callable[[Any], Callable[[], None]],
) -> None:
    parts = services()
    end = begin(parts)
    settling = asyncio.ensure_future(Settling(parts).settle_all())
    for _ in range(500):
        await asyncio.sleep(0)
    assert not settling.done()
    end()
    await settling


@pytest.mark.parametrize(
    ("begin", "what"),
    [(job, "the job 'retention'"), (thread, "a disk thread"), (sync, "a sync of /d")],
)
async def test_it_says_what_does_not_end(
    begin: Callable[[Any], Callable[[], None]], what: str
) -> None:
    parts = services()
    begin(parts)
    with pytest.raises(AdminError, match=f"{what}.* has not ended after 0 s"):
        await Settling(parts, timeout_s=0).settle()
