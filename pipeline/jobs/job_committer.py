"""Micro-batches become commits of a table, each once, whatever dies in between.

Batch N of job J, in this order:

1. Nothing, if the table has it; otherwise it must begin where the table ends.
2. The offsets are what they were: topic ids and leader epochs are compared.
3. The tasks write files to a staging folder; their reports are collected.
4. The dead letters are committed to a table of their own, under the same (J, N).
5. One commit adds the files to the table, with J, N and the ranges: the commit point.
6. Parquet only: the files are moved to where readers see them.

A driver that dies leaves a batch that is committed or not; Spark replays it with the
same number and offsets, and the steps that were done are found done. Two drivers meet
in 5, which one of them wins.
"""

from __future__ import annotations

import time
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.pipeline.job_errors import CommitRefused, JobStopped
from odradek.pipeline.tables.commit import Commit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.tables.commit import CommittedRange
    from odradek.pipeline.tables.places.place import StagingFolder
    from odradek.pipeline.tables.table import DataFile, Table
    from odradek.pipeline.values.dead_letters import DeadLetterLimit
    from odradek.protocol.topic_partition import TopicPartition


class Step(Enum):
    """What has been done, for tests that let the driver die there."""

    BEGUN = "begun"
    CONFIRMED = "confirmed"
    STAGED = "staged"
    COLLECTED = "collected"
    DEAD_LETTERS_COMMITTED = "dead letters committed"
    COMMITTED = "committed"
    PUBLISHED = "published"


class Written(NamedTuple):
    """What the tasks of a batch wrote.

    ``offsets`` has the first and the last offset of each partition that had records.
    """

    files: list[DataFile]
    dead_letters: list[DataFile]
    row_count: int
    dead_letter_count: int
    offsets: dict[TopicPartition, tuple[int, int]]
    first_failure: str = ""


class Log(Protocol):
    """What the committer asks the cluster; `Continuity` does."""

    def confirm(
        self, last: Commit | None, planned: Sequence[OffsetRange]
    ) -> tuple[CommittedRange, ...]:
        """The ranges with topic ids and leader epochs.

        Raises:
            JobStopped: offsets no longer mean the records that were committed.
        """


Write = "Callable[[StagingFolder, StagingFolder | None], Written]"


class JobTables(NamedTuple):
    """Where the rows of a job go, and what could not be decoded."""

    rows: Table
    dead_letters: Table | None = None


class JobCommitter:
    """Commits the batches of one job to its table, for one driver."""

    def __init__(
        self,
        job: str,
        tables: JobTables,
        log: Log,
        limit: DeadLetterLimit | None = None,
        *,
        at_step: Callable[[Step], None] = lambda step: None,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._job = job
        self._table, self._dead_letters = tables
        self._log = log
        self._limit = limit
        self._at_step = at_step
        self._now_ms = now_ms

    def recover(self) -> Commit | None:
        """Finish what an earlier driver committed; returns the last commit."""
        for table in (self._dead_letters, self._table):
            last = table.last_commit(self._job) if table else None
            if table and last:
                table.publish(last)
        return last

    def run(
        self, batch: int, planned: Sequence[OffsetRange], write: Callable[..., Written]
    ) -> Commit | None:
        """Commit a batch; None if the table had it already.

        ``write`` is given two folders, for rows and for dead letters.

        Raises:
            JobStopped: it does not fit what is committed, or another driver did it.
        """
        last = self._table.last_commit(self._job)
        self._at_step(Step.BEGUN)
        if last is not None and last.batch >= batch:
            check_replay(last, batch, planned)
            self._table.publish(last)
            return None
        check_start(last, batch, planned)
        ranges = self._log.confirm(last, planned)
        self._at_step(Step.CONFIRMED)

        staging = self._table.staging(batch)
        dead = self._dead_letters
        dead_staging = dead.staging(batch) if dead else None
        written = write(staging, dead_staging)
        self._at_step(Step.STAGED)
        check_written(written, planned)
        if self._limit:
            self._limit.add(
                written.row_count, written.dead_letter_count, written.first_failure
            )
        commit = Commit(
            job=self._job,
            batch=batch,
            ranges=ranges,
            row_count=written.row_count,
            dead_letter_count=written.dead_letter_count,
            staged=staging.name,
            committed_ms=self._now_ms(),
        )
        self._at_step(Step.COLLECTED)

        if dead and dead_staging:
            self._commit_dead_letters(dead, dead_staging, commit, written)
        self._at_step(Step.DEAD_LETTERS_COMMITTED)
        self._commit(self._table, commit, written.files)
        self._at_step(Step.COMMITTED)
        self._table.publish(commit)
        self._at_step(Step.PUBLISHED)
        return commit

    def _commit(self, table: Table, commit: Commit, files: list[DataFile]) -> None:
        try:
            table.commit(commit, files)
        except FileNotFoundError:
            # Who commits a batch removes what others have staged of it.
            last = table.last_commit(commit.job)
            if last is None or last.batch < commit.batch:
                raise
            raise CommitRefused(
                f"batch {commit.batch} of the job {commit.job!r} was committed by "
                f"another driver to {table.location}; stop one of the two"
            ) from None

    def _commit_dead_letters(
        self, table: Table, staging: StagingFolder, commit: Commit, written: Written
    ) -> None:
        before = table.last_commit(self._job)
        if before is not None and before.batch >= commit.batch:
            # The driver died between the two commits.
            if before.ends != commit.ends:
                raise JobStopped(
                    f"the dead letters of batch {commit.batch} were committed to "
                    f"{table.location} up to {_ends_text(before.ends)}, the batch ends "
                    f"at {_ends_text(commit.ends)} now: the checkpoint was lost in "
                    "between; move that table away, and give the job a new name and "
                    "table"
                )
            if before.row_count != written.dead_letter_count:
                raise JobStopped(
                    f"batch {commit.batch} had {before.row_count} dead letters when it "
                    f"was half committed, and has {written.dead_letter_count} now: the "
                    "settings of the decoding were changed; run it once with the "
                    "former ones"
                )
            table.publish(before)
            return
        if not written.dead_letter_count:
            staging.rmdir()
            return
        letters = replace(
            commit, row_count=written.dead_letter_count, staged=staging.name
        )
        self._commit(table, letters, written.dead_letters)
        table.publish(letters)


def check_replay(last: Commit, batch: int, planned: Sequence[OffsetRange]) -> None:
    """A batch that the table has is passed over, if it is the same batch.

    Raises:
        JobStopped: the checkpoint is older than the table.
    """
    ends = last.ends
    if last.batch == batch:
        same = all(
            ends.get(each.place) == each.end for each in planned if each.count > 0
        )
        if same:
            return
    raise JobStopped(
        f"the checkpoint is older than the table: Spark begins batch {batch} with "
        f"{_text(planned)}, the table has batch {last.batch} of the job {last.job!r} "
        f"up to {_ends_text(ends)}; --rebuild-checkpoint makes a new one from the table"
    )


def check_start(
    last: Commit | None, batch: int, planned: Sequence[OffsetRange]
) -> None:
    """A batch begins where the table ends.

    Raises:
        JobStopped: it does not: a checkpoint of another table, or of another state.
    """
    expected = 0 if last is None else last.batch + 1
    if batch != expected:
        has = "nothing" if last is None else f"batch {last.batch} as its last"
        raise JobStopped(
            f"Spark's checkpoint is at batch {batch}, but the table has {has} of this "
            "job: it is the checkpoint of another table, or the table was replaced; "
            "give the job the table it had, or a new name, table and checkpoint"
        )
    if last is None:
        return
    ends = last.ends
    for each in planned:
        end = ends.get(each.place)
        if end is not None and end != each.start:
            raise JobStopped(
                f"batch {batch} begins {each.place} at offset {each.start}, but the "
                f"table ends at {end}: records would be "
                f"{'lost' if each.start > end else 'repeated'}; --rebuild-checkpoint "
                "lets the job go on from where the table ends"
            )


def check_written(written: Written, planned: Sequence[OffsetRange]) -> None:
    """The tasks wrote what was planned and nothing else.

    Raises:
        JobStopped: they did not.
    """
    limits: Mapping[TopicPartition, OffsetRange] = {
        each.place: each for each in planned
    }
    for place, (first, last) in written.offsets.items():
        limit = limits.get(place)
        if limit is None or first < limit.start or last >= limit.end:
            raise JobStopped(
                f"the tasks read {place} from {first} to {last}, outside of what was "
                f"planned ({limit or 'nothing'}): report this as a bug"
            )


def _text(planned: Sequence[OffsetRange]) -> str:
    shown = ", ".join(str(each) for each in planned[:3])
    return shown + (", ..." if len(planned) > 3 else "")


def _ends_text(ends: Mapping[TopicPartition, int]) -> str:
    shown = ", ".join(f"{place}: {end}" for place, end in list(ends.items())[:3])
    return shown + (", ..." if len(ends) > 3 else "")
