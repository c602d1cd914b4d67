"""What a sink says of its batches: to people, to lag tools, and on Spark's pages."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from odradek.client.group_offsets import commit_offsets
from odradek.client.list_offsets import LATEST
from odradek.pipeline.jobs.starting_offsets import listed
from odradek.pipeline.security.words import GROUP, Need, told
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.client.cluster import Cluster
    from odradek.pipeline.jobs.job_committer import Written
    from odradek.pipeline.jobs.job_file import Job
    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.tables.commit import Commit
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.terminal.progress import Progress

_log = logging.getLogger(__name__)
# What differs from one value to the next that fails for the same reason.
_OF_ONE_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|-?\d+(\.\d+)?")
_REASONS_MAX = 20


class Telling:
    """Of one driver of a job."""

    def __init__(self, job: Job, cluster: Cluster, progress: Progress) -> None:
        self._job = job
        self._cluster = cluster
        self._progress = progress
        self._reasons: set[str] = set()

    def description(self, batch: int, planned: Sequence[OffsetRange]) -> str:
        """What Spark's pages call the jobs of a batch."""
        count = sum(max(each.count, 0) for each in planned)
        filled = sum(each.count > 0 for each in planned)
        where = "1 partition" if filled == 1 else f"{filled:,} partitions"
        return (
            f"{self._job.name}: batch {batch}, {count:,} offsets of {where}"
            f" to {self._job.table_path}"
        )

    def dead_letters(self, written: Written) -> None:
        """Say why records could not be decoded, each reason once."""
        if not written.dead_letter_count or len(self._reasons) >= _REASONS_MAX:
            return
        _, _, reason = written.first_failure.partition(": ")
        kind = _OF_ONE_VALUE.sub("", reason)
        if kind not in self._reasons:
            self._reasons.add(kind)
            self._progress.note(
                "dead letters", first=written.first_failure, to=self._job.dead_letters
            )

    def committed(self, commit: Commit, size: int) -> None:
        """Show how far the job is, where lag tools and people look."""
        remaining = None
        try:
            commit_offsets(self._cluster, self._job.group, commit.ends)
            remaining = self._remaining(commit.ends)
        except (KafkaError, OSError) as error:
            need = Need("Read", GROUP, self._job.group)
            said = told(error, self._job.source.security(), need)
            _log.warning("the group %s: %s", self._job.group, said)
        extra = {}
        if commit.dead_letter_count:
            extra["dead_letters"] = commit.dead_letter_count
        count = commit.row_count + commit.dead_letter_count
        self._progress.done(
            "batch", count, size, remaining=remaining, batch=commit.batch, **extra
        )

    def _remaining(self, ends: Mapping[TopicPartition, int]) -> int:
        latest = listed(self._cluster, dict.fromkeys(ends, LATEST), self._job.source)
        return sum(max(latest[place] - end, 0) for place, end in ends.items())
