"""The states of one group that are being begun: nowhere written, and waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.broker.runtime.parked import Parked

    from .states import Topics


@dataclass(slots=True)
class Beginning:
    """The partitions, and the heartbeats that are answered when these have a state."""

    topics: Topics
    waiting: list[tuple[Any, Parked]] = field(default_factory=list)
