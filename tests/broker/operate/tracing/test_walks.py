"""The tables of stations agree with the functions that they name."""

import inspect
from typing import Any

import pytest

from odradek.broker.operate.tracing.walks import WALKS

STATIONS = list(dict.fromkeys(each for walk in WALKS.values() for each in walk))


def name_of(station: Any) -> str:
    return str(getattr(station.function, "__qualname__", station.function))


@pytest.mark.parametrize("station", STATIONS, ids=name_of)
def test_a_station_is_a_function_of_ours_in_python(station: Any) -> None:
    code = station.function.__code__
    assert station.function.__module__.startswith("odradek.")
    # What returns at once, and goes on when it is awaited, has no value to tell of.
    assert not (station.at_return and inspect.iscoroutinefunction(station.function))
    place = station.place or station.function
    assert place.__qualname__
    assert code.co_name in (station.function.__name__, "__init__")


@pytest.mark.parametrize("station", STATIONS, ids=name_of)
def test_what_comes_behind_another_is_of_something(station: Any) -> None:
    if station.behind is not None or station.opens:
        assert station.of is not None


@pytest.mark.parametrize("walk", WALKS.values(), ids=lambda walk: str(len(walk)))
def test_no_station_is_twice_in_a_walk(walk: Any) -> None:
    places = [(station.function, station.at_return) for station in walk]
    assert len(set(places)) == len(places)
