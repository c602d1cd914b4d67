"""How a job is doing, as its table, its checkpoint and the cluster say."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.list_offsets import LATEST, NO_OFFSET, list_offsets
from odradek.pipeline.tables.table import open_table
from odradek.protocol.errors import KafkaError

from .checkpoint import Checkpoint
from .rates import (
    ARRIVAL_MS,
    COMMITS_MAX,
    Rates,
    arriving_per_s,
    rate_lines,
    rates_of,
    writing_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from odradek.pipeline.jobs.job_file import Job
    from odradek.pipeline.tables.commit import Commit, CommittedRange
    from odradek.protocol.topic_partition import TopicPartition

_TIMEOUT_S = 10
_HEAD = ("TOPIC", "PARTITION", "COMMITTED", "LOG-END-OFFSET", "LAG", "LEADER-EPOCH")


@dataclass(frozen=True)
class JobStatus:
    """What is known; ``log_ends`` lacks what the cluster does not say."""

    job: Job
    last: Commit | None
    dead_letters: Commit | None
    planned: int | None
    done: int | None
    log_ends: dict[TopicPartition, int]
    rates: Rates | None = None
    cluster_error: str = ""

    @property
    def lag(self) -> int | None:
        """Offsets that are in the log and not in the table."""
        if self.last is None or self.cluster_error:
            return None
        return _lag(self.last, self.log_ends)

    def as_json(self) -> dict[str, Any]:
        """One object, for other programs."""
        last = self.last
        return {
            "job": self.job.name,
            "table": self.job.table_path,
            "format": self.job.table_format,
            "batch": last and last.batch,
            "committed_at": last and _moment(last.committed_ms),
            "records": last and last.row_count,
            "dead_letters": last and last.dead_letter_count,
            "last_batch_with_dead_letters": (
                self.dead_letters and self.dead_letters.batch
            ),
            "checkpoint": {"planned": self.planned, "done": self.done},
            "lag": self.lag,
            "rates": self.rates and self.rates.as_json(),
            "cluster_error": self.cluster_error or None,
            "partitions": [
                {
                    "topic": each.topic,
                    "partition": each.partition,
                    "committed": each.end,
                    "log_end_offset": self.log_ends.get(each.place),
                    "lag": _lag_of(each, self.log_ends),
                    "leader_epoch": each.leader_epoch,
                    "topic_id": each.topic_id,
                }
                for each in (last.ranges if last else ())
            ],
        }


def _lag(last: Commit, log_ends: Mapping[TopicPartition, int]) -> int:
    return sum(_lag_of(each, log_ends) or 0 for each in last.ranges)


def _lag_of(last: CommittedRange, log_ends: Mapping[TopicPartition, int]) -> int | None:
    end = log_ends.get(last.place)
    return None if end is None else max(end - last.end, 0)


def job_status(
    job: Job, now_ms: Callable[[], int] = lambda: int(time.time() * 1000)
) -> JobStatus:
    """Ask table, checkpoint and cluster; changes nothing.

    Raises:
        JobError: the table cannot be read.
    """
    last, commits = _commits(job, job.table_path, job.catalog)
    dead = None
    if job.dead_letters is not None:
        dead, _ = _commits(job, job.dead_letters, job.dead_letters_catalog)
    checkpoint = Checkpoint(job.checkpoint)
    found, reason, rates = _Found({}, {}), "", None
    if last is not None:
        try:
            found = _ask(job, last, now_ms())
        except (KafkaError, OSError) as error:
            reason = str(error)
        rates = rates_of(
            writing_of(commits),
            None if reason else arriving_per_s(*found),
            None if reason else _lag(last, found.ends),
            now_ms() - last.committed_ms,
        )
    return JobStatus(
        job,
        last,
        dead,
        checkpoint.last_planned(),
        checkpoint.last_done(),
        found.ends,
        rates,
        reason,
    )


def _commits(
    job: Job, location: str, catalog: dict[str, str]
) -> tuple[Commit | None, list[Commit]]:
    """The last commit, and as many before it as say how fast the job is."""
    table = open_table(job.table_format, location, job.name, catalog, job.store)
    try:
        last = table.last_commit(job.name)
        return last, table.recent(job.name, COMMITS_MAX + 1) if last else []
    finally:
        table.close()


class _Found(NamedTuple):
    """Where partitions end, and where what came in the last minute begins."""

    ends: dict[TopicPartition, int]
    before: dict[TopicPartition, int]


def _ask(job: Job, last: Commit, now_ms: int) -> _Found:
    bootstrap = parse_addresses(job.source.bootstrap_servers)
    security = job.source.security()
    with Cluster(bootstrap, timeout_s=_TIMEOUT_S, security=security) as cluster:
        ends, before = (
            _offsets(job, cluster, dict.fromkeys(last.ends, time_ms))
            for time_ms in (LATEST, max(now_ms - ARRIVAL_MS, 0))
        )
    return _Found(ends, {p: n for p, n in before.items() if n != NO_OFFSET})


def _offsets(
    job: Job, cluster: Cluster, times: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    listing = list_offsets(cluster, times, committed=job.source.is_committed)
    for place, error in listing.failed.items():
        raise type(error)(f"{place}: {error}")
    return {place: each.offset for place, each in listing.found.items()}


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def status_lines(status: JobStatus) -> Iterator[str]:
    """For people."""
    job, last = status.job, status.last
    yield f"job {job.name}: {job.table_format} table {job.table_path}"
    if last is None:
        yield "nothing committed yet"
        return
    yield (
        f"batch {last.batch}, committed {_moment(last.committed_ms)}: "
        f"{_counted(last.row_count, 'record')}, "
        f"{_counted(last.dead_letter_count, 'dead letter')}"
    )
    if status.dead_letters is not None:
        yield (
            f"last dead letters: batch {status.dead_letters.batch}, in "
            f"{job.dead_letters}"
        )
    if status.planned is not None and status.planned > last.batch:
        yield f"batch {status.planned} is being written"
    yield ""
    rows: list[tuple[object, ...]] = []
    for each in last.ranges:
        end = status.log_ends.get(each.place)
        lag = "-" if end is None else max(end - each.end, 0)
        shown = "-" if end is None else end
        rows.append(
            (each.topic, each.partition, each.end, shown, lag, each.leader_epoch)
        )
    yield from _table([_HEAD, *rows])
    if status.cluster_error:
        yield f"the cluster does not say how far behind it is: {status.cluster_error}"
    else:
        yield f"total lag: {status.lag}"
    if status.rates is not None:
        yield from rate_lines(status.rates, status.lag, job.trigger_ms)


def _table(rows: list[tuple[object, ...]]) -> Iterator[str]:
    texts = [[str(value) for value in row] for row in rows]
    widths = [max(len(row[n]) for row in texts) for n in range(len(texts[0]))]
    for row in texts:
        cells = (value.ljust(width) for value, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _moment(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
