"""Spark's checkpoint of a streaming query: read, and made anew from a table.

```
checkpoint/metadata        {"id": ...}
checkpoint/offsets/7       planned: v1, settings, and where batch 7 ends
checkpoint/commits/7       done
checkpoint/odradek.json    ours: where batch 0 begins
```

Spark does not keep where the first batch begins: with ``latest`` that would be
another place after each failure. It is therefore decided once, and kept here.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.source.stream_offsets import StreamOffsets
from odradek.pipeline.tables.table import local_path, sync

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from odradek.pipeline.tables.commit import Commit
    from odradek.protocol.topic_partition import TopicPartition

_START = "odradek.json"
_SETTINGS = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}
_CRC = ".{}.crc"


class Checkpoint:
    """The checkpoint of a job, in a folder that need not be there yet."""

    def __init__(self, location: str) -> None:
        self.path = local_path(location)

    def last_planned(self) -> int | None:
        """The number of the last batch that Spark began; None for no batch."""
        return _last(self.path / "offsets")

    def last_done(self) -> int | None:
        """The number of the last batch that Spark finished; None for no batch."""
        return _last(self.path / "commits")

    def planned(self, batch: int) -> list[OffsetRange]:
        """Where a batch begins and ends, of each partition.

        Raises:
            JobStopped: the checkpoint does not say it.
        """
        ends = self._ends(batch)
        starts = self._ends(batch - 1) if batch else self.start()
        if starts is None or ends is None:
            raise JobStopped(
                f"the checkpoint {self.path} has lost the offsets of batch {batch}; "
                "--rebuild-checkpoint makes a new one from the table"
            )
        # A partition that is new to the job is read from its beginning.
        return [
            OffsetRange(*place, starts.get(place, 0), end)
            for place, end in sorted(ends.items())
        ]

    def ends(self, batch: int) -> Mapping[TopicPartition, int]:
        """Where a batch ends, of each partition.

        Raises:
            JobStopped: the checkpoint does not say it.
        """
        ends = self._ends(batch)
        if ends is None:
            raise JobStopped(
                f"the checkpoint {self.path} has lost the offsets of batch {batch}; "
                "without them and without a commit in the table nothing says where "
                "the job was: move the checkpoint away, and let --rebuild-checkpoint "
                "find it from the table's rows"
            )
        return ends

    def topic_ids(self, batch: int) -> Mapping[str, bytes]:
        """Of the topics of a batch that is planned; of those that are known."""
        offsets = self._offsets(batch)
        return {} if offsets is None else offsets.topic_ids

    def _ends(self, batch: int) -> dict[TopicPartition, int] | None:
        offsets = self._offsets(batch)
        return None if offsets is None else dict(offsets.ends)

    def _offsets(self, batch: int) -> StreamOffsets | None:
        try:
            text = (self.path / "offsets" / str(batch)).read_text()
        except FileNotFoundError:
            return None
        lines = text.splitlines()
        if len(lines) != 3:
            raise JobError(
                f"the checkpoint {self.path} is of another query: {len(lines) - 2} "
                "sources instead of one; give the job a checkpoint of its own"
            )
        return StreamOffsets.of_text(lines[2])

    def start(self) -> dict[TopicPartition, int] | None:
        """Where the first batch begins; None if that is not decided."""
        try:
            text = (self.path / _START).read_text()
        except FileNotFoundError:
            return None
        return dict(StreamOffsets.of_text(text).ends)

    def set_start(self, starts: Mapping[TopicPartition, int]) -> None:
        """Decide where the first batch begins."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._write(self.path / _START, StreamOffsets(starts).text())

    def rebuild(self, commit: Commit, half_done: Commit | None = None) -> None:
        """Make it anew, so that Spark goes on behind a commit of the table.

        Of a batch that is ``half_done`` the dead letters are committed: it is planned
        as it was. What was there is kept beside it, with ``.old`` behind its name.
        """
        if self.path.exists():
            old = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex[:8]}.old")
            os.rename(self.path, old)
        fresh = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex[:8]}")
        for folder in ("offsets", "commits"):
            (fresh / folder).mkdir(parents=True)
        self._write(fresh / "metadata", json.dumps({"id": str(uuid.uuid4())}))
        starts = {each.place: each.start for each in commit.ranges}
        self._write(fresh / _START, StreamOffsets(starts).text())
        planned = {commit.batch: commit.ends}
        if commit.batch:  # Spark asks for the last but one as well
            planned[commit.batch - 1] = starts
        if half_done is not None:
            planned[half_done.batch] = half_done.ends
        for batch, ends in planned.items():
            lines = ["v1", json.dumps(_SETTINGS), StreamOffsets(ends).text()]
            self._write(fresh / "offsets" / str(batch), "\n".join(lines))
        done = fresh / "commits" / str(commit.batch)
        self._write(done, 'v1\n{"nextBatchWatermarkMs":0}')
        os.rename(fresh, self.path)
        sync(self.path.parent)

    def _write(self, path: Path, text: str) -> None:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        temporary.write_text(text)
        sync(temporary)
        # Spark keeps a checksum beside a file that it wrote itself.
        path.with_name(_CRC.format(path.name)).unlink(missing_ok=True)
        os.replace(temporary, path)
        sync(path.parent)

    def forget(self) -> None:
        """Remove it all."""
        shutil.rmtree(self.path, ignore_errors=True)


def _last(folder: Path) -> int | None:
    with suppress(FileNotFoundError):
        return max((int(n) for n in os.listdir(folder) if n.isdigit()), default=None)
    return None
