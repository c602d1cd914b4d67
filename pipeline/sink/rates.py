"""How fast a job writes, how fast records arrive, and when it has caught up.

The table says the first: its last commits have times and offsets. The cluster says the
second: how many offsets came in the last minute, by the times of their records. Neither
knows what will be; what is said is what would be if all went on so.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.pipeline.tables.commit import Commit
    from odradek.protocol.topic_partition import TopicPartition

# Commits that are older than this, seen from the last, say little of now.
WINDOW_MS = 600_000
COMMITS_MAX = 20
ARRIVAL_MS = 60_000
_IDLE_TRIGGERS = 10
_IDLE_MS_MIN = 60_000
_UNITS = ((86_400, "day"), (3600, "h"), (60, "min"), (1, "s"))


class Writing(NamedTuple):
    """What the last batches were: ``largest`` has the offsets of the largest."""

    batches: int
    seconds: float
    offsets: int
    largest: int

    @property
    def per_s(self) -> float:
        """Offsets a second."""
        return self.offsets / self.seconds


class Rates(NamedTuple):
    """``None`` is what cannot be said; ``idle_s`` is the time since the last commit."""

    writing: Writing | None
    arriving_per_s: float | None
    idle_s: float
    eta_s: float | None
    keeps_up: bool

    def as_json(self) -> dict[str, Any]:
        """For other programs."""
        writing = self.writing
        return {
            "written_per_s": writing and round(writing.per_s, 1),
            "batches": writing and writing.batches,
            "seconds": writing and round(writing.seconds, 3),
            "arriving_per_s": _rounded(self.arriving_per_s),
            "seconds_since_commit": round(self.idle_s, 3),
            "keeps_up": self.keeps_up,
            "eta_seconds": _rounded(self.eta_s),
        }


def writing_of(commits: Sequence[Commit]) -> Writing | None:
    """Of the last commits, the newest first; None where there are too few."""
    if not commits:
        return None
    newest = commits[0].committed_ms
    window = [each for each in commits if newest - each.committed_ms <= WINDOW_MS]
    counts = [_offsets(after, before) for after, before in pairwise(window)]
    took_ms = newest - window[-1].committed_ms
    if not counts or took_ms <= 0:
        return None
    return Writing(len(counts), took_ms / 1000, sum(counts), max(counts))


def _offsets(after: Commit, before: Commit) -> int:
    starts = before.ends
    return sum(
        max(each.end - starts.get(each.place, each.start), 0) for each in after.ranges
    )


def arriving_per_s(
    ends: Mapping[TopicPartition, int], before: Mapping[TopicPartition, int]
) -> float:
    """Offsets a second, of partitions that ended at ``before`` a while ago.

    A partition that has had nothing since is not in ``before``.
    """
    came = sum(max(ends[place] - first, 0) for place, first in before.items())
    return came * 1000 / ARRIVAL_MS


def rates_of(
    writing: Writing | None,
    arriving: float | None,
    lag: int | None,
    idle_ms: int,
) -> Rates:
    """What follows for who waits."""
    keeps_up = lag == 0 or (
        writing is not None and lag is not None and lag <= writing.largest
    )
    eta_s = None
    if lag == 0:
        eta_s = 0.0
    elif lag is not None and writing is not None and writing.per_s > 0:
        # Who has all that there is writes no faster than records come.
        net = writing.per_s - (0 if keeps_up else arriving or 0)
        eta_s = lag / net if net > 0 else None
    return Rates(writing, arriving, max(idle_ms, 0) / 1000, eta_s, keeps_up)


def rate_lines(rates: Rates, lag: int | None, trigger_ms: int) -> list[str]:
    """For people."""
    lines, said = [], []
    writing = rates.writing
    if writing is not None:
        batches = "batch" if writing.batches == 1 else f"{writing.batches} batches"
        said.append(f"written {_rate(writing.per_s)} over the last {batches}")
    if rates.arriving_per_s is not None:
        said.append(f"arriving {_rate(rates.arriving_per_s)} in the last minute")
    if said:
        lines.append("; ".join(said))
    is_idle = rates.idle_s * 1000 > max(_IDLE_TRIGGERS * trigger_ms, _IDLE_MS_MIN)
    if lag and is_idle:
        lines.append(
            f"nothing was committed for {duration(rates.idle_s)}, and there is"
            " something to write: does the job run?"
        )
    elif lag == 0:
        lines.append("the table has all that there is")
    elif rates.eta_s is not None:
        lines.append(f"caught up in {duration(rates.eta_s)}, if all goes on so")
    elif lag and writing is not None:
        lines.append("it does not catch up, if all goes on so")
    return lines


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f} records/s" if per_s >= 10 else f"{per_s:.2g} records/s"


def duration(seconds: float) -> str:
    """Like ``45 s``, ``3 min`` or ``2 days``."""
    for size, unit in _UNITS:
        if seconds >= size:
            count = round(seconds / size)
            plural = "s" if unit == "day" and count > 1 else ""
            return f"{count} {unit}{plural}"
    return "less than a second"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
