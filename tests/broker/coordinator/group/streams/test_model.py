"""Random members, topics, clocks and restarts; see `StreamsWorld` for what holds."""

import os

import pytest

from tests.broker.coordinator.group.streams.model import StreamsWorld
from tests.broker.coordinator.group.worlds import live_and_finish, lived

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 10_000 if IS_LONG else 60
STEPS = 200


@pytest.mark.parametrize("tenth", range(10))
def test_g002_what_holds_whatever_members_do(tenth: int) -> None:
    live_and_finish(StreamsWorld, range(tenth, WORLDS, 10), STEPS)


def test_worlds_are_eventful() -> None:
    """Tasks move, members are fenced, brokers begin anew."""
    worlds = lived(StreamsWorld, 20, STEPS)
    assert sum(world.assigned_count for world in worlds) > 300
    assert sum(world.moved_count for world in worlds) > 40
    assert sum(world.fenced_count for world in worlds) > 10
    assert sum(world.restart_count for world in worlds) > 10
