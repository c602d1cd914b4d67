"""What a check found: findings, and the sums of a partition.

*Damage* is what should not be after any stop: bytes that were durable and are wrong
or gone, files that contradict each other. A *note* is what an unclean stop, an older
version or another program may leave: nothing is lost by it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

_SAME_MAX = 20  # findings of one sort in one file; a count stands for the others


class Severity(Enum):
    """How bad a finding is."""

    DAMAGE = "damage"
    NOTE = "note"


class Place(NamedTuple):
    """Where: bytes from ``position`` up to ``end``, and offsets, where known."""

    position: int | None = None
    end: int | None = None
    base_offset: int | None = None
    last_offset: int | None = None


NOWHERE = Place()


class Finding(NamedTuple):
    """One thing that was found. ``code`` is a word for its sort, for programs."""

    severity: Severity
    code: str
    file: str
    message: str
    place: Place = NOWHERE


@dataclass
class Findings:
    """Findings in the order in which they were made, of one sort not too many."""

    _kept: list[Finding] = field(default_factory=list)
    _seen: Counter[tuple[Severity, str, str]] = field(default_factory=Counter)

    def add(
        self,
        severity: Severity,
        code: str,
        file: str,
        message: str,
        place: Place = NOWHERE,
    ) -> None:
        """Take one in."""
        sort = (severity, code, file)
        self._seen[sort] += 1
        if self._seen[sort] <= _SAME_MAX:
            self._kept.append(Finding(severity, code, file, message, place))

    def damage(
        self, code: str, file: str, message: str, place: Place = NOWHERE
    ) -> None:
        """Something that should not be."""
        self.add(Severity.DAMAGE, code, file, message, place)

    def note(self, code: str, file: str, message: str, place: Place = NOWHERE) -> None:
        """Something to know."""
        self.add(Severity.NOTE, code, file, message, place)

    def __iter__(self) -> Iterator[Finding]:
        yield from self._kept
        for (severity, code, file), count in self._seen.items():
            if count > _SAME_MAX:
                more = f"{count - _SAME_MAX} more of this sort"
                yield Finding(severity, code, file, more)

    def count(self, severity: Severity) -> int:
        """How many there are."""
        return sum(n for sort, n in self._seen.items() if sort[0] is severity)


@dataclass
class Report:
    """A partition, or a log directory as such: what is in it, and what was found."""

    path: Path
    kind: str  # "partition" or "directory"
    segments: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    log_start_offset: int = 0
    log_end_offset: int = 0
    findings: Findings = field(default_factory=Findings)
