"""What `drive_speedups` does with the functions that make records of columns."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from odradek.protocol.plain import column_encoding as column_encoding_plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


def outcome(function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except (BufferError, ValueError) as error:
        return repr(error)


def random_cells(random: Random, count: int, limit: int) -> array[int]:
    """Numbers that are mostly positions or lengths in ``limit`` bytes of data."""
    borders = (-(2**63), -1, 0, limit, limit + 1, 2**31, 2**63 - 1)
    return array(
        "q",
        [
            random.choice(borders)
            if random.random() < 0.1
            else random.randrange(limit // 2 + 1)
            for _ in range(count)
        ],
    )[:]


def check_encoding(speedups: Any, random: Random) -> None:
    rows = random.choice((0, 1, 2, 5, 20))
    columns: list[array[int]] = []
    for _ in range(3):
        size, count = random.choice((0, 8, 300)), max(rows - (random.random() < 0.1), 0)
        columns += (
            array("B", random.randbytes(size))[:],
            random_cells(random, count, size),
            random_cells(random, count, size),
        )
    times = random_cells(random, rows, random.choice((0, 2**40)))
    first, room = random.randrange(-1, rows + 1), random.choice((0, 20, 900, 9000))
    modules: tuple[Any, ...] = speedups, column_encoding_plain
    targets = [array("B", bytes(room))[:] for _ in modules]
    made = [
        outcome(module.encode_columns, *columns, times, target, first)
        for module, target in zip(modules, targets, strict=True)
    ]
    assert made[0] == made[1], (columns, times, room, first, made)
    if isinstance(made[0], tuple) and made[0][0]:
        size = made[0][1]
        assert targets[0][:size] == targets[1][:size], (columns, times, room, first)
    count = random.choice((-1, 0, 1, 7, 2**31, 2**63 - 1))
    cells = max(len(columns[1]) - random.choice((0, 0, 0, 1)), 0)
    places = [array("q", bytes(8 * cells))[:] for _ in modules]
    placed = [
        outcome(module.place_keys, *columns[:3], place, count)
        for module, place in zip(modules, places, strict=True)
    ]
    assert placed[0] == placed[1], (columns[:3], count, placed)
    if placed[0] is None:
        assert places[0] == places[1], (columns[:3], count)
