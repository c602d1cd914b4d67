"""Partitions as requests name them, by their topics; and what was said of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.topic_partition import TopicPartition

    Codes = dict[TopicPartition, int]

# Of what is some tens of bytes: such a request is far below what brokers take.
TOGETHER_MAX: Final = 1_000


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of the partitions of each topic."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


def codes_of(
    partitions: Iterable[TopicPartition], found: Codes | None, unanswered: int
) -> Codes:
    """The error code of each; ``unanswered`` where nothing was said of it."""
    known = found or {}
    return {each: known.get(each, unanswered) for each in partitions}
