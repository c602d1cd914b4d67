"""R3: brokers with copies lose their power, are killed, elected, and come back.

With ``durability=commit`` everything that was acknowledged, or shown to a reader, is
there afterwards, the same at the same place, whoever leads: also when all have lost
their power at once. Then all copies become the same, byte for byte.
"""

from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.crash.deciding_controller import NODES
from tests.crash.replica_node import PLACES
from tests.crash.replicated import World, values_of
from tests.sampling import sampled

STEPS = 400


@pytest.mark.parametrize("seed", sampled(range(300), 2, 7, 16, 18, 26))
async def test_what_was_promised_is_kept(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    await world.open()
    try:
        for _ in range(STEPS):
            await world.step()
        await world.put_right()
        for place in PLACES:
            check(world, place)
    finally:
        await world.close()


@pytest.mark.parametrize("seed", sampled(range(100), 0, 3, 5))
@pytest.mark.parametrize("way", ["usurp", "rejoin"])
async def test_what_chance_alone_hardly_ever_has(
    tmp_path: Path, seed: int, way: str
) -> None:
    """A leader misses that another one led; one that lets others in dies over it."""
    world = World(tmp_path, seed)
    await world.open()
    try:
        await world.put_right()
        world.is_calm = False
        if way == "usurp":
            for place in PLACES:
                await world.usurp(place)
        else:
            await world.rejoin()
        await world.put_right()
        for place in PLACES:
            check(world, place)
    finally:
        await world.close()


def check(world: World, place: TopicPartition) -> None:
    """All copies are one, and have what was promised."""
    decided = world.controllers.decided[place]
    assert sorted(decided.in_sync) == list(NODES), decided
    leader = world.nodes[decided.leader]
    values = values_of(leader, place, FetchIsolation.HIGH_WATERMARK)
    assert values == values_of(leader, place, FetchIsolation.LOG_END)
    for promised in (world.acknowledged, world.seen):
        of_place = {
            offset: value
            for (known, offset), value in promised.items()
            if known == place
        }
        assert of_place.items() <= values.items()
    copies = [data_of(world, each, place) for each in NODES]
    assert copies[0] == copies[1] == copies[2]


def data_of(world: World, node_id: int, place: TopicPartition) -> bytes:
    files = world.nodes[node_id].files
    return b"".join(
        files.content(path)
        for path in sorted(files.paths())
        if path.suffix == ".log" and path.parent.name == str(place)
    )
