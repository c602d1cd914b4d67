"""Random consumers, topics, clocks and restarts; see `World` for what must hold."""

import os

import pytest

from tests.broker.coordinator.group.consumer.model import World

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 10_000 if IS_LONG else 200
STEPS = 150


@pytest.mark.parametrize("tenth", range(10))
def test_g002_what_holds_whatever_consumers_do(tenth: int) -> None:
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
    """Partitions are given away, members are fenced, brokers begin anew."""
    worlds = [World(seed) for seed in range(20)]
    for world in worlds:
        for _ in range(STEPS):
            world.step()
    assert sum(world.assigned_count for world in worlds) > 500
    assert sum(world.fenced_count for world in worlds) > 20
    assert sum(world.restart_count for world in worlds) > 20
