"""Random consumers, topics, clocks and restarts; see `World` for what must hold."""

import os

import pytest

from tests.broker.coordinator.group.consumer.model import World
from tests.broker.coordinator.group.worlds import live_and_finish, lived

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 10_000 if IS_LONG else 200
STEPS = 150


@pytest.mark.parametrize("tenth", range(10))
def test_g002_what_holds_whatever_consumers_do(tenth: int) -> None:
    live_and_finish(World, range(tenth, WORLDS, 10), STEPS)


def test_worlds_are_eventful() -> None:
    """Partitions are given away, members are fenced, brokers begin anew."""
    worlds = lived(World, 20, STEPS)
    assert sum(world.assigned_count for world in worlds) > 500
    assert sum(world.fenced_count for world in worlds) > 20
    assert sum(world.restart_count for world in worlds) > 20
