"""Spark's checkpoint, read and made anew."""

from pathlib import Path

import pytest

from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.sink.checkpoint import Checkpoint
from odradek.pipeline.source.stream_offsets import StreamOffsets
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.protocol.topic_partition import TopicPartition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def plan(folder: Path, batch: int, *ends: str) -> None:
    offsets = folder / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (offsets / str(batch)).write_text("\n".join(["v1", '{"conf":{}}', *ends]))


def test_first_batch_begins_where_it_was_decided(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "c"))
    assert checkpoint.start() is None
    assert checkpoint.last_planned() is None
    checkpoint.set_start({ZERO: 5})
    plan(checkpoint.path, 0, '{"t":{"0":9,"1":3}}')
    assert checkpoint.start() == {ZERO: 5}
    # Partition 1 came later: from its beginning.
    assert checkpoint.planned(0) == [
        OffsetRange("t", 0, 5, 9),
        OffsetRange("t", 1, 0, 3),
    ]
    plan(checkpoint.path, 1, '{"t":{"0":9,"1":4}}')
    assert checkpoint.planned(1)[1] == OffsetRange("t", 1, 3, 4)
    assert checkpoint.last_planned() == 1
    assert checkpoint.last_done() is None


def test_topics_of_a_batch_have_ids_where_they_are_known(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    ids = {"t": bytes(range(16))}
    plan(tmp_path, 0, StreamOffsets({ZERO: 5}, ids).text())
    plan(tmp_path, 1, '{"t":{"0":9}}')
    assert [checkpoint.topic_ids(batch) for batch in range(3)] == [ids, {}, {}]


def test_rebuilt_from_a_commit(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "c"))
    plan(checkpoint.path, 3, '{"t":{"0":1}}')
    ranges = (CommittedRange("t", 0, 2, 7, "id", 0), CommittedRange("t", 1, 4, 4, "id"))
    checkpoint.rebuild(Commit("j", 12, ranges))
    assert checkpoint.last_planned() == checkpoint.last_done() == 12
    plan(checkpoint.path, 13, '{"t":{"0":9,"1":4}}')
    assert checkpoint.planned(13) == [
        OffsetRange("t", 0, 7, 9),
        OffsetRange("t", 1, 4, 4),
    ]
    # Of two batches Spark asks for the offsets; what they say is the last one's range.
    assert checkpoint.planned(12) == [
        OffsetRange("t", 0, 2, 7),
        OffsetRange("t", 1, 4, 4),
    ]
    (old,) = tmp_path.glob("c.*.old")
    assert (old / "offsets" / "3").exists()


def test_rebuilt_with_a_batch_that_is_half_done(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "c"))
    done = Commit("j", 12, (CommittedRange("t", 0, 2, 7, "id", 0),))
    half = Commit("j", 13, (CommittedRange("t", 0, 7, 9, "id", 0),))
    checkpoint.rebuild(done, half)
    assert (checkpoint.last_planned(), checkpoint.last_done()) == (13, 12)
    assert checkpoint.planned(13) == [OffsetRange("t", 0, 7, 9)]


def test_what_is_lost_or_of_another_query_is_said(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    with pytest.raises(JobStopped, match="lost the offsets of batch 4"):
        checkpoint.planned(4)
    plan(tmp_path, 0, '{"t":{"0":1}}', "7")
    with pytest.raises(JobError, match="2 sources"):
        checkpoint.planned(0)
