"""How a job is doing, as its table, its checkpoint and the cluster say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.pipeline.tables.table import open_table
from odradek.protocol.errors import KafkaError

from .checkpoint import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.pipeline.jobs.job_file import Job
    from odradek.pipeline.tables.commit import Commit
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
    cluster_error: str = ""

    @property
    def lag(self) -> int | None:
        """Offsets that are in the log and not in the table."""
        if self.last is None or self.cluster_error:
            return None
        ends = self.last.ends
        return sum(max(end - ends.get(p, 0), 0) for p, end in self.log_ends.items())

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
            "cluster_error": self.cluster_error or None,
            "partitions": [
                {
                    "topic": each.topic,
                    "partition": each.partition,
                    "committed": each.end,
                    "log_end_offset": self.log_ends.get(each.place),
                    "leader_epoch": each.leader_epoch,
                    "topic_id": each.topic_id,
                }
                for each in (last.ranges if last else ())
            ],
        }


def job_status(job: Job) -> JobStatus:
    """Ask table, checkpoint and cluster; changes nothing.

    Raises:
        JobError: the table cannot be read.
    """
    last = _last_commit(job, job.table_path, job.catalog)
    dead = None
    if job.dead_letters is not None:
        dead = _last_commit(job, job.dead_letters, job.dead_letters_catalog)
    checkpoint = Checkpoint(job.checkpoint)
    ends: dict[TopicPartition, int] = {}
    reason = ""
    if last is not None:
        try:
            ends = _log_ends(job, last)
        except (KafkaError, OSError) as error:
            reason = str(error)
    return JobStatus(
        job,
        last,
        dead,
        checkpoint.last_planned(),
        checkpoint.last_done(),
        ends,
        reason,
    )


def _last_commit(job: Job, location: str, catalog: dict[str, str]) -> Commit | None:
    table = open_table(job.table_format, location, job.name, catalog)
    try:
        return table.last_commit(job.name)
    finally:
        table.close()


def _log_ends(job: Job, last: Commit) -> dict[TopicPartition, int]:
    bootstrap = parse_addresses(job.source.bootstrap_servers)
    security = job.source.security()
    with Cluster(bootstrap, timeout_s=_TIMEOUT_S, security=security) as cluster:
        listing = list_offsets(
            cluster,
            dict.fromkeys(last.ends, LATEST),
            committed=job.source.is_committed,
        )
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


def _table(rows: list[tuple[object, ...]]) -> Iterator[str]:
    texts = [[str(value) for value in row] for row in rows]
    widths = [max(len(row[n]) for row in texts) for n in range(len(texts[0]))]
    for row in texts:
        cells = (value.ljust(width) for value, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _moment(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
