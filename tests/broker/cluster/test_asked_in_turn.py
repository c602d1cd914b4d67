"""What one broker asks of the controllers, one question at a time."""

import asyncio

from odradek.broker.cluster.asked_in_turn import AskedInTurn
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.errors import NotController
from tests.fakes.clock import FakeClock

LOST_MS = 70


class Questions:
    """So many to be asked; ``troubles`` are raised in place of the next answers."""

    def __init__(self, count: int, *troubles: Exception) -> None:
        self.left = count
        self.troubles = list(troubles)
        self.lost_count = 0

    async def ask(self) -> int | None:
        if not self.left:
            return None
        await asyncio.sleep(0)
        if self.troubles:
            raise self.troubles.pop(0)
        self.left -= 1
        return 0

    def lost(self) -> int:
        self.lost_count += 1
        return LOST_MS


async def turns() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_all_is_asked_and_what_comes_later_too() -> None:
    bugs, clock = Bugs(), FakeClock()
    asker = Questions(3)
    asked = AskedInTurn(asker, "places", clock, bugs)
    running = asyncio.get_running_loop().create_task(asked.run())
    await turns()
    assert asker.left == 3
    asked.want()
    await turns()
    assert asker.left == 0
    asker.left = 1
    await turns()
    assert asker.left == 1
    asked.want()
    await turns()
    assert asker.left == 0
    running.cancel()


async def test_who_has_no_answer_asks_again_later_whatever_breaks() -> None:
    bugs, clock = Bugs(), FakeClock()
    asker = Questions(1, OSError("cut"), NotController(), KeyError("a bug"))
    asked = AskedInTurn(asker, "places", clock, bugs)
    running = asyncio.get_running_loop().create_task(asked.run())
    asked.want()
    for lost_count in (1, 2, 3):
        await turns()
        assert (asker.lost_count, asker.left) == (lost_count, 1)
        clock.advance(LOST_MS)
    await turns()
    assert asker.left == 0
    assert not running.done()
    running.cancel()
    assert bugs.count == 1
