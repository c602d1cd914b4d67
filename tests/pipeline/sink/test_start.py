"""A sink goes on where its table ends, however that is found; it never begins anew."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from odradek.client.cluster import Cluster
from odradek.pipeline.job_errors import JobError, JobStopped, PositionLost
from odradek.pipeline.jobs.continuity import Continuity
from odradek.pipeline.jobs.export import Export, run_export
from odradek.pipeline.jobs.job_committer import JobCommitter, JobTables, Written
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.sink.checkpoint import Checkpoint
from odradek.pipeline.sink.sink import Sink
from odradek.pipeline.source.stream_offsets import StreamOffsets
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.iceberg import IcebergTableOfJob
from odradek.pipeline.tables.table import FORMATS, DataFile, Table, open_table
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.progress import Progress
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create, send
from tests.pipeline.table_readers import READERS, rows_of

FAR = datetime(2100, 1, 1, tzinfo=UTC)
COUNT = 100  # records in the topic's only partition


def no_spark() -> Any:
    raise AssertionError("Spark is not needed to say this")


class Fixture:
    """A job whose batches are made here, ten records each, without Spark."""

    def __init__(self, job: Job, cluster: Cluster) -> None:
        self.job = job
        self.checkpoint = Checkpoint(job.checkpoint)
        self.location = Path(job.table_path)
        self._cluster = cluster
        (self._topic,) = job.source.topics

    def prepare(self, **options: bool) -> None:
        sink = Sink(self.job, no_spark)
        try:
            sink.prepare(**options)
        finally:
            sink.close()

    def table(self) -> Table:
        job = self.job
        return open_table(job.table_format, job.table_path, job.name, job.catalog)

    def run(self, count: int, *, plans: bool = True, finishes: bool = True) -> None:
        """More batches, as Spark would: from where the checkpoint ends."""
        for _ in range(count):
            done = self.checkpoint.last_done()
            batch = 0 if done is None else done + 1
            ends = self.checkpoint.start() if done is None else None
            start = (ends or self.checkpoint.ends(batch - 1))[self.place]
            self.mark("offsets", batch, start + 10)
            self._commit(batch, start)
            if finishes:
                self.mark("commits", batch, start + 10)

    def _commit(self, batch: int, start: int) -> None:
        table = self.table()
        committer = JobCommitter(
            self.job.name, JobTables(table), Continuity(self._cluster)
        )
        planned = [OffsetRange(*self.place, start, start + 10)]
        committer.run(batch, planned, self._write(start))
        table.close()

    def _write(self, start: int) -> Callable[[Path, Path | None], Written]:
        def write(staging: Path, dead_staging: Path | None) -> Written:
            path = staging / "rows.parquet"
            offsets = range(start, start + 10)
            rows = {
                "topic": pa.array([self._topic] * 10),
                "partition": pa.array([0] * 10, pa.int32()),
                "offset": pa.array(offsets, pa.int64()),
                "value": pa.array([b"x"] * 10),
            }
            names = (*self.job.value.columns, "value")
            pq.write_table(pa.table({name: rows[name] for name in names}), path)
            file = DataFile(str(path), 10, path.stat().st_size)
            return Written([file], [], 10, 0, {self.place: (start, start + 9)})

        return write

    def mark(self, folder: str, batch: int, end: int) -> None:
        path = self.checkpoint.path / folder / str(batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        offsets = StreamOffsets({self.place: end}).text()
        path.write_text(f"v1\n{{}}\n{offsets}")

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self._topic, 0)

    def end(self) -> int:
        table = self.table()
        last = table.last_commit(self.job.name)
        table.close()
        assert last is not None
        return last.ends[self.place]

    def rows(self, column: str = "offset") -> list[Any]:
        return rows_of(READERS[self.job.table_format][0], self.location, column)


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(
    kind: str,
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
) -> Callable[..., Fixture]:
    create(broker_process.address, topic)
    send(broker_process.address, topic, [b"x"] * COUNT)

    def make(**sections: dict[str, Any]) -> Fixture:
        content: dict[str, Any] = {
            "name": topic,
            "source": {
                "bootstrap_servers": broker_process.address,
                "topics": [topic],
            },
            "table": {
                "path": "rows",
                "format": kind,
                "columns": ["topic", "partition", "offset"],
            },
            "dead_letters": {"enabled": False},
        }
        for name, keys in sections.items():
            before = content.get(name)
            content[name] = {**before, **keys} if isinstance(before, dict) else keys
        return Fixture(read_job(content, tmp_path), cluster)

    return make


def lose_position(job: Fixture) -> None:
    """All that says where the job is in the table, as no owner ordinarily does."""
    location = job.location
    if job.job.table_format == "parquet":
        for path in (location / "_log").glob("[0-9]*.json"):
            path.unlink()
    elif job.job.table_format == "delta":
        for path in (location / "_odradek").iterdir():
            path.unlink()
        lose_log(location)
    else:
        lose_snapshots(location, job.job.name)


def lose_log(location: Path) -> None:
    table = DeltaTable(location)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    write_deltalake(location, table.to_pyarrow_table().slice(0, 0), mode="append")
    table = DeltaTable(location)
    table.create_checkpoint()
    table.cleanup_metadata()


def lose_snapshots(location: Path, job: str) -> None:
    table = IcebergTableOfJob(location, job, {})
    loaded = table.load()
    loaded.append(loaded.scan().to_arrow().slice(0, 0))
    loaded.maintenance.expire_snapshots().older_than(FAR).commit()
    with table.load().transaction() as transaction:
        transaction.remove_properties(f"odradek.commit.{job}")
    table.write_hint()
    table.close()


def test_position_is_found_by_the_checkpoint(made: Callable[..., Fixture]) -> None:
    job = made()
    job.prepare()
    job.run(3)
    lose_position(job)
    with pytest.raises(JobStopped, match="--rebuild-checkpoint") as raised:
        job.prepare()
    assert "remove" not in str(raised.value).replace("removed by a cleanup", "")
    job.prepare(rebuild_checkpoint=True)
    assert job.end() == 30
    job.prepare()
    job.run(2)
    assert job.rows() == list(range(50))


@pytest.mark.parametrize("is_committed", [True, False])
def test_batch_that_spark_had_begun(
    is_committed: bool, made: Callable[..., Fixture]
) -> None:
    """The driver died before or behind the commit, and the table has lost it."""
    job = made()
    job.prepare()
    job.run(2)
    if is_committed:
        job.run(1, finishes=False)
    else:
        job.mark("offsets", 2, 30)
    lose_position(job)
    job.prepare(rebuild_checkpoint=True)
    assert job.end() == (30 if is_committed else 20)
    job.run(2)
    assert job.rows() == list(range(50 if is_committed else 40))


def test_checkpoint_is_lost_as_well(made: Callable[..., Fixture]) -> None:
    job = made()
    job.prepare()
    job.run(3)
    lose_position(job)
    job.checkpoint.forget()
    with pytest.raises(JobStopped, match="--rebuild-checkpoint"):
        job.prepare()
    assert job.checkpoint.last_planned() is None
    job.prepare(rebuild_checkpoint=True)
    assert job.end() == 30
    job.run(2)
    assert job.rows() == list(range(50))


def test_table_without_columns_of_offsets(made: Callable[..., Fixture]) -> None:
    """The checkpoint alone knows it, and only when no batch was under way."""
    job = made(table={"columns": ["topic"]})
    job.prepare()
    job.run(3)
    lose_position(job)
    job.prepare(rebuild_checkpoint=True)
    assert job.end() == 30
    job.run(1)
    assert len(job.rows("topic")) == 40
    lose_position(job)
    job.checkpoint.forget()
    with pytest.raises(JobStopped, match=r"new name, table|--rebuild-checkpoint"):
        job.prepare()
    with pytest.raises(JobStopped, match="new name, table and checkpoint"):
        job.prepare(rebuild_checkpoint=True)


def test_table_was_removed(made: Callable[..., Fixture], tmp_path: Path) -> None:
    """Then nothing is written twice, and it may begin anew."""
    job = made()
    job.prepare()
    job.run(2)
    job.location.rename(tmp_path / "elsewhere")
    with pytest.raises(JobStopped, match="no rows of its topics"):
        job.prepare()
    with pytest.raises(JobError, match="nothing to make a checkpoint of"):
        job.prepare(rebuild_checkpoint=True)
    job.checkpoint.forget()
    job.prepare()
    job.run(1)
    assert job.rows() == list(range(10))


@pytest.mark.parametrize("kind", ["delta", "iceberg"], indirect=True)
def test_new_job_in_a_table_with_rows_of_its_topic(
    made: Callable[..., Fixture], topic: str
) -> None:
    """It begins behind them, or not at all."""
    first = made()
    first.prepare()
    first.run(3)
    second = made(name="second", checkpoint="second-checkpoint")
    with pytest.raises(JobStopped, match=r"would begin at 0: they would be written"):
        second.prepare()
    start = {topic: {"0": 30}}
    second = made(
        name="second",
        checkpoint="second-checkpoint",
        source={"starting_offsets": start},
    )
    second.prepare()
    second.run(2)
    assert second.rows() == list(range(50))


def test_commit_that_is_found_has_the_topics_ids(
    made: Callable[..., Fixture],
) -> None:
    job = made()
    job.prepare()
    job.run(1)
    before = job.table().last_commit(job.job.name)
    lose_position(job)
    job.prepare(rebuild_checkpoint=True)
    after = job.table().last_commit(job.job.name)
    assert before is not None
    assert after is not None
    assert [each.topic_id for each in after.ranges] == [
        each.topic_id for each in before.ranges
    ]
    assert json.loads(after.as_json())["rows"] == 0


def test_export_over_its_own_rows(made: Callable[..., Fixture], topic: str) -> None:
    """An export is a job as well: one that has lost its commit is not done again."""
    job = made(name=f"export-{topic}")
    job.prepare()
    job.run(2)
    lose_position(job)
    export = Export(
        job.job.source,
        job.job.value,
        job.job.table_path,
        job.job.table_format,
        ending="50",
    )
    with pytest.raises(JobError, match="Export to another folder"):
        run_export(export, no_spark, Progress(io.StringIO()))
    assert job.rows() == list(range(20))


@pytest.mark.parametrize("kind", ["delta"], indirect=True)
def test_dead_letters_of_long_ago_need_no_offsets(made: Callable[..., Fixture]) -> None:
    """They are rare: the log that had their commit is cleaned before the next ones."""
    job = made(dead_letters={"enabled": True})
    job.prepare()
    job.run(3)
    assert job.job.dead_letters is not None
    dead = open_table("delta", job.job.dead_letters, job.job.name)
    letters = Commit(job.job.name, 1, ())
    dead.commit(letters, [])
    lose_log(Path(job.job.dead_letters))
    with pytest.raises(PositionLost, match="no longer has the entry of batch 1"):
        dead.last_commit(job.job.name)
    job.prepare()
    found = dead.last_commit(job.job.name)
    assert found is not None
    assert found.batch == 1
    job.run(1)
    assert job.rows() == list(range(40))
