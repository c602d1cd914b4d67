"""Random clients, clocks, disks and restarts; see `World` for what must hold."""

import os

import pytest

from tests.broker.coordinator.group.model import World

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 5000 if IS_LONG else 100
STEPS = 300


@pytest.mark.parametrize("tenth", range(10))
def test_what_holds_whatever_clients_and_disks_do(tenth: int) -> None:
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
    """Generations pass, partitions are given away, offsets move."""
    worlds = [World(seed) for seed in range(20)]
    for world in worlds:
        for _ in range(STEPS):
            world.step()
    assert sum(world.last_generation for world in worlds) > 50
    assert sum(len(world.owners) for world in worlds) > 100
    assert sum(max(world.acknowledged.values()) for world in worlds) > 20
