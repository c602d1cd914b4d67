"""Random members of both protocols; see `MixedWorld` for what must hold."""

import os

import pytest

from tests.broker.coordinator.group.consumer.migration.model import MixedWorld

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
WORLDS = 3_000 if IS_LONG else 100
STEPS = 200


@pytest.mark.parametrize("fifth", range(5))
def test_g011_no_partition_is_read_by_two(fifth: int) -> None:
    for seed in range(fifth, WORLDS, 5):
        world = MixedWorld(seed)
        try:
            for _ in range(STEPS):
                world.step()
            world.finish()
        except AssertionError as error:
            error.add_note(f"MixedWorld({seed})")
            raise


def test_worlds_are_eventful() -> None:
    """Groups become what their members are, again and again."""
    worlds = [MixedWorld(seed) for seed in range(20)]
    for world in worlds:
        for _ in range(STEPS):
            world.step()
    assert sum(len(world.types) for world in worlds) > 60
