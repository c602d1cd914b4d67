import asyncio

import pytest

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.security.login.hashing import (
    AT_A_TIME,
    WAITING_MAX,
    PasswordHashing,
)
from odradek.broker.security.login.mechanism import LoginBusy
from odradek.protocol.scram import salted


async def test_a_password_is_hashed_as_scram_has_it() -> None:
    threads = DiskThreads(1)
    found = await PasswordHashing(threads).salted("x", b"salt", 4096, "sha256")
    assert found == salted(b"x", b"salt", 4096, "sha256")
    threads.close()


class HeldThreads:
    """Ends no job before it is told to."""

    def __init__(self) -> None:
        self.count = 0
        self.go_on = asyncio.Event()

    async def run(self, *_: object) -> bytes:
        self.count += 1
        await self.go_on.wait()
        return b""


async def test_few_at_a_time_and_not_too_many_wait() -> None:
    threads = HeldThreads()
    hashing = PasswordHashing(threads)  # type: ignore[arg-type]

    async def ask() -> bytes:
        return await hashing.salted("x", b"salt", 4096, "sha256")

    waiting = [asyncio.ensure_future(ask()) for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    assert threads.count == AT_A_TIME
    with pytest.raises(LoginBusy):
        await ask()
    threads.go_on.set()
    await asyncio.gather(*waiting)
    await ask()
