"""Random producers, disks and crashes; see `World` for what must hold."""

import os

import pytest

from tests.broker.coordinator.transaction.model import World

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 5000 if IS_LONG else 100
STEPS = 2000


@pytest.mark.parametrize("tenth", range(10))
def test_what_holds_whatever_producers_and_disks_do(tenth: int) -> None:
    for seed in range(tenth, WORLDS, 10):
        world = World(seed)
        try:
            for _ in range(STEPS):
                world.step()
            world.finish()
        except AssertionError as error:
            error.add_note(f"World({seed})")
            raise


def test_worlds_are_eventful() -> None:
    """Transactions of both kinds end; producer ids rotate."""
    worlds = [World(seed) for seed in range(20)]
    for world in worlds:
        for _ in range(STEPS):
            world.step()
        world.finish()
    told = [is_commit for world in worlds for is_commit in world.told.values()]
    assert told.count(True) > 50
    assert told.count(False) > 25
    assert sum(world.tokens for world in worlds) > 2 * len(told) > 0
