"""What checkpoint, table and cluster have to agree on before a sink goes on.

The table says where the job is. Where it has lost that, nothing is read before it is
found again: a job that begins anew, in a table that has its rows, writes them twice.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from odradek.client.list_offsets import EARLIEST
from odradek.pipeline.job_errors import JobError, JobStopped, PositionLost
from odradek.pipeline.jobs.lost_position import (
    OWN_TABLE,
    Evidence,
    check_nothing_twice,
    find_position,
)
from odradek.pipeline.jobs.starting_offsets import listed, starting_offsets, subscribed
from odradek.pipeline.jobs.table_rows import offset_columns, offset_spans
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.commit import Commit
from odradek.protocol.uuids import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.client.cluster import Cluster
    from odradek.pipeline.jobs.continuity import Continuity
    from odradek.pipeline.jobs.job_committer import JobCommitter
    from odradek.pipeline.jobs.job_file import Job
    from odradek.pipeline.jobs.table_rows import OffsetSpan
    from odradek.pipeline.tables.table import Table
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.terminal.progress import Progress

    from .checkpoint import Checkpoint

_REBUILD = "--rebuild-checkpoint makes a new one from the table"
_OFFSET_MAX = 1 << 63


class SinkStart:
    """The start of one driver of a job."""

    def __init__(
        self,
        job: Job,
        cluster: Cluster,
        checkpoint: Checkpoint,
        table: Table,
        dead_letters: Table | None,
        progress: Progress,
    ) -> None:
        self._job = job
        self._cluster = cluster
        self._checkpoint = checkpoint
        self._table = table
        self._dead_letters = dead_letters
        self._progress = progress

    def agree(
        self, committer: JobCommitter, continuity: Continuity, *, rebuild: bool = False
    ) -> None:
        """Compare all of it, and decide where a new job begins.

        Raises:
            JobError: they do not fit each other; says what to do.
        """
        last, lost_batch = None, None
        try:
            last = self._table.last_commit(self._job.name)
        except PositionLost as error:
            if not rebuild:
                raise
            lost_batch = error.batch
        self._find_dead_letters(last)
        if last is None and rebuild:
            last = self._find(continuity, lost_batch)
        committer.recover()
        if last is not None and rebuild:
            self._rebuild(last)
        self._check_checkpoint(last)
        if last is not None:
            continuity.check(last)
            return
        starts = self._checkpoint.start()
        fresh = starting_offsets(self._cluster, self._job.source) if not starts else {}
        self._check_rows(starts or fresh)
        if starts is None:
            self._checkpoint.set_start(fresh)

    def _find_dead_letters(self, last: Commit | None) -> None:
        """Those of a batch that is whole need no offsets any more."""
        if self._dead_letters is None:
            return
        try:
            self._dead_letters.last_commit(self._job.name)
        except PositionLost as error:
            if last is None or error.batch > last.batch:
                raise
            letters = Commit(self._job.name, error.batch, last.ranges)
            self._dead_letters.restore(letters)

    def _find(self, continuity: Continuity, lost_batch: int | None) -> Commit:
        """Find out where the job was, and let the table say it again."""
        names = subscribed(self._cluster, self._job.source)
        evidence = Evidence(
            done=self._done(),
            planned=self._planned(),
            rows=self._rows(names),
            letters=self._letters(),
            lost_batch=lost_batch,
        )
        found = find_position(evidence)
        if found is None:
            raise JobError(
                f"the table {self._table.location} has no commit of the job "
                f"{self._job.name!r}, and no rows of its topics: there is nothing to "
                "make a checkpoint of"
            )
        ends = found.ends
        if not evidence.done and not evidence.planned:
            ends = self._beginnings() | ends
        ids = {} if not evidence.done else self._checkpoint.topic_ids(evidence.done[0])
        ranges = continuity.confirm(
            None, [OffsetRange(*p, end, end) for p, end in sorted(ends.items())]
        )
        commit = Commit(
            self._job.name,
            found.batch,
            tuple(
                each._replace(topic_id=to_text(ids[each.topic]))
                if each.topic in ids
                else each
                for each in ranges
            ),
            committed_ms=int(time.time() * 1000),
        )
        continuity.check(commit)
        self._table.restore(commit)
        self._progress.note("found position", batch=commit.batch)
        return commit

    def _done(self) -> tuple[int, Mapping[TopicPartition, int]] | None:
        done = self._checkpoint.last_done()
        if done is None:
            return None
        return done, self._checkpoint.ends(done)

    def _planned(self) -> tuple[int, list[OffsetRange]] | None:
        planned, done = self._checkpoint.last_planned(), self._checkpoint.last_done()
        if planned is None or planned == done:
            return None
        return planned, self._checkpoint.planned(planned)

    def _letters(self) -> Commit | None:
        if self._dead_letters is None:
            return None
        return self._dead_letters.last_commit(self._job.name)

    def _rows(
        self, topics: Mapping[str, list[int]]
    ) -> dict[TopicPartition, OffsetSpan] | None:
        columns = offset_columns(self._job.value)
        spans = offset_spans(self._table.files(), columns, self._table.open)
        if spans is None:
            return None
        return {
            place: span
            for place, span in spans.items()
            if place.partition in topics.get(place.topic, ())
        }

    def _beginnings(self) -> dict[TopicPartition, int]:
        """Where partitions begin of which the table has no rows: at the first record,
        unless the job says another offset or time."""
        source = self._job.source
        starts = starting_offsets(self._cluster, source)
        if source.starting_offsets == "latest":
            return listed(self._cluster, dict.fromkeys(starts, EARLIEST), source)
        return starts

    def _check_rows(self, starts: Mapping[TopicPartition, int]) -> None:
        """A new job does not write again what the table has."""
        check_nothing_twice(
            self._table,
            self._job.name,
            self._job.value,
            [OffsetRange(*place, n, _OFFSET_MAX) for place, n in starts.items()],
            "--rebuild-checkpoint lets it go on behind them; or give it "
            "starting_offsets that do, or a table of its own",
        )

    def _rebuild(self, last: Commit) -> None:
        letters = self._letters()
        if letters is not None and letters.batch != last.batch + 1:
            letters = None  # those of a batch that is whole
        self._checkpoint.rebuild(last, letters)
        self._progress.note("rebuilt checkpoint", batch=last.batch)

    def _check_checkpoint(self, last: Commit | None) -> None:
        planned, done = self._checkpoint.last_planned(), self._checkpoint.last_done()
        where = f"the checkpoint {self._checkpoint.path}"
        if last is None:
            if done is not None:
                raise JobStopped(
                    f"{where} has batch {done} done, but the table "
                    f"{self._table.location} has no commit of this job"
                    f"{self._what_is_there()}"
                )
        elif planned is None:
            raise JobStopped(
                f"{where} is lost or empty, but the table has batch {last.batch} of "
                f"this job; {_REBUILD}"
            )
        elif planned < last.batch:
            raise JobStopped(
                f"{where} is older than the table: it is at batch {planned}, the table "
                f"has batch {last.batch}; {_REBUILD}"
            )
        elif done is not None and done > last.batch:
            raise JobStopped(
                f"{where} has batch {done} done, but the table has only batch "
                f"{last.batch}: the table was put back to an earlier state; "
                f"{_REBUILD}, and reads again what is missing"
            )

    def _what_is_there(self) -> str:
        """Of a table without a commit; and what to do about it."""
        rows = self._rows(subscribed(self._cluster, self._job.source))
        if rows:
            place, span = max(rows.items(), key=lambda each: each[1].end)
            return (
                f", and rows of its topics ({place} up to offset {span.end}): "
                "--rebuild-checkpoint finds out where it was, and goes on there"
            )
        if rows is None:
            return (
                ", and rows that do not say where they came from: "
                "--rebuild-checkpoint goes on where the checkpoint says, if that is "
                f"this table's; otherwise {OWN_TABLE}"
            )
        return (
            ", and no rows of its topics: it was removed or is another one; put it "
            "back, or move the checkpoint away to write all that the topics have"
        )
