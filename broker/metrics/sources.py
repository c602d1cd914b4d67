"""The parts of a running broker that have something to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..network.connection import Network
    from ..network.listener import Listener
    from ..replica.cleaning import Cleaning
    from ..services import Services


@dataclass(frozen=True, slots=True)
class MetricSources:
    """Where the samples come from. ``cleaning`` is None until it has begun."""

    services: Services
    listeners: Sequence[Listener]
    network: Network
    cleaning: Cleaning | None
    version: str
