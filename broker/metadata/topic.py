"""A topic as the broker knows it: its id, its partitions, its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.chosen_options import ChosenOptions

from .topic_names import INTERNAL_TOPICS

if TYPE_CHECKING:
    from collections.abc import Mapping


class PartitionInfo(NamedTuple):
    """What the catalogue says of one partition.

    ``log_dir`` is None until the partition has a directory. ``written`` says that
    records of it were acknowledged: without its directory it is offline then,
    never empty.
    """

    partition: int
    leader_epoch: int
    log_dir: str | None = None
    written: bool = False


@dataclass(slots=True, eq=False)
class Topic:
    """One topic. ``new_leader_epoch`` is what partitions that are added begin with."""

    name: str
    topic_id: bytes
    partitions: list[PartitionInfo]
    options: ChosenOptions = field(default_factory=ChosenOptions)
    new_leader_epoch: int = 0

    @property
    def is_internal(self) -> bool:
        """Whether it belongs to the broker's own coordinators."""
        return self.name in INTERNAL_TOPICS


class NewTopic(NamedTuple):
    """A topic to make: checked as far as that goes without knowing the others.

    ``topic_id`` is that of a topic which is a copy; others get one of their own.
    """

    name: str
    partition_count: int
    options: Mapping[str, str]
    topic_id: bytes | None = None
