"""What was written to a log, and by whom."""

from dataclasses import dataclass
from typing import NamedTuple


class Written(NamedTuple):
    """A record, and in which transaction (its number) it was; 0 for none."""

    key: bytes
    value: bytes | None
    timestamp: int
    transaction: int
    written_ms: int


@dataclass
class Producer:
    """What a producer knows of itself, and its last batch as it was sent."""

    epoch: int = 0
    next_sequence: int = 0
    last_batch: bytes = b""
    base_offset: int = -1
    transaction: int = 0
    """The number of the one that is open; 0 for none."""
    first_offset: int = -1
