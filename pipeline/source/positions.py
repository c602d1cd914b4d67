"""Where reading begins and ends, as the options of Spark's Kafka connector say it.

One word for all partitions, a time for all, or JSON with an offset or a time for each:
``{"topic": {"0": 23, "1": -2}}``, in which -2 is the earliest offset and -1 the latest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.pipeline.errors import BadOption
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = {"earliest": EARLIEST, "latest": LATEST}
_NAMES = {number: word for word, number in WORDS.items()}


class Everywhere(NamedTuple):
    """`EARLIEST` or `LATEST` in every partition."""

    where: int


class SinceTime(NamedTuple):
    """The first record of this time or later, in every partition."""

    time_ms: int


class EachOffset(NamedTuple):
    """An offset, `EARLIEST` or `LATEST` for each partition."""

    offsets: Mapping[TopicPartition, int]


class EachTime(NamedTuple):
    """A time in ms for each partition."""

    times_ms: Mapping[TopicPartition, int]


Position = Everywhere | SinceTime | EachOffset | EachTime


def read_offsets(option: str, text: str) -> Position:
    """The value of ``startingOffsets`` or ``endingOffsets``.

    Raises:
        BadOption: it is neither of the words nor such JSON.
    """
    where = WORDS.get(text.strip().lower())
    if where is not None:
        return Everywhere(where)
    offsets = _by_partition(option, text, "earliest, latest or JSON like " + _EXAMPLE)
    for place, offset in offsets.items():
        if offset < EARLIEST:
            raise BadOption(option, f"{place} cannot begin at offset {offset}.")
    return EachOffset(offsets)


def read_times(option: str, text: str) -> Position:
    """The value of ``startingOffsetsByTimestamp`` or ``endingOffsetsByTimestamp``."""
    times = _by_partition(option, text, "JSON like " + _EXAMPLE + " with times in ms")
    for place, time in times.items():
        if time < 0:
            raise BadOption(option, f"{place} has a time below 0: {time}.")
    return EachTime(times)


def read_time(option: str, text: str) -> Position:
    """The value of ``startingTimestamp`` or ``endingTimestamp``."""
    try:
        time = int(text)
    except ValueError:
        time = -1
    if time < 0:
        raise BadOption(option, f"is a time in ms since 1970, and not {text!r}.")
    return SinceTime(time)


def read_places(option: str, text: str) -> tuple[TopicPartition, ...]:
    """The partitions of ``assign``: ``{"topic": [0, 1]}``."""
    expected = 'is JSON like {"topic":[0,1]}'
    numbers = _json_object(option, text, expected)
    places: list[TopicPartition] = []
    for topic, partitions in numbers.items():
        if not isinstance(partitions, list) or not partitions:
            raise BadOption(option, f"{expected}, and not {text!r}.")
        for number in partitions:
            if type(number) is not int or number < 0:
                raise BadOption(option, f"{number!r} is not the number of a partition.")
            places.append(TopicPartition(topic, number))
    return tuple(sorted(set(places)))


def forbids(option: str, position: Position, where: int, reason: str) -> None:
    """Raise if it is ``where`` (`EARLIEST` or `LATEST`) in any partition."""
    if isinstance(position, Everywhere):
        found = position.where == where
    else:
        found = isinstance(position, EachOffset) and where in position.offsets.values()
    if found:
        raise BadOption(option, f"cannot be {_NAMES[where]} ({where}) {reason}.")


_EXAMPLE = '{"topic":{"0":23,"1":-2}}'


def _by_partition(option: str, text: str, expected: str) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    refused = BadOption(option, f"is {expected}, and not {text!r}.")
    for topic, partitions in _json_object(option, text, f"is {expected}").items():
        if not isinstance(partitions, dict):
            raise refused
        for number, value in partitions.items():
            if not number.isascii() or not number.isdigit() or type(value) is not int:
                raise refused
            found[TopicPartition(topic, int(number))] = value
    return dict(sorted(found.items()))


def _json_object(option: str, text: str, expected: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise BadOption(option, f"{expected}, and not {text!r}.")
    return found
