"""Whether a shard can be asked."""

from enum import Enum


class Phase(Enum):
    """Loaded, and sound."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
