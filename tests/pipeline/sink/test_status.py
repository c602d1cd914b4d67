"""How a job is doing, without Spark, and without a broker if need be."""

from pathlib import Path

from odradek.pipeline.jobs.job_file import read_job
from odradek.pipeline.sink.status import job_status, status_lines
from odradek.pipeline.tables.table import open_table
from tests.pipeline.fake_job import JOB, run_batches

SOURCE = {"bootstrap_servers": "127.0.0.1:1", "topics": ["t"]}


def test_nothing_committed_yet(tmp_path: Path) -> None:
    job = read_job({"name": JOB, "source": SOURCE, "table": {"path": "rows"}}, tmp_path)
    status = job_status(job)
    assert status.as_json()["batch"] is None
    assert status.lag is None
    assert list(status_lines(status))[-1] == "nothing committed yet"
    assert list(tmp_path.iterdir()) == []


def test_cluster_that_is_away(tmp_path: Path) -> None:
    job = read_job({"name": JOB, "source": SOURCE, "table": {"path": "rows"}}, tmp_path)
    run_batches(
        lambda: (
            open_table("parquet", job.table_path, JOB),
            open_table("parquet", str(job.dead_letters), JOB),
        ),
        range(3),
    )
    status = job_status(job)
    assert status.lag is None
    lines = list(status_lines(status))
    assert (
        "batch 2, committed 1970-01-01T00:00:00.000Z: 9 records, 1 dead letter"
        in lines[1]
    )
    assert not lines[1].endswith("s")
    assert "last dead letters: batch 2" in lines[2]
    assert "127.0.0.1:1" in lines[-1]
    assert status.as_json()["cluster_error"]
    assert status.as_json()["partitions"][0]["committed"] == 30
    assert status.as_json()["partitions"][0]["lag"] is None
    rates = status.as_json()["rates"]
    assert (rates["eta_seconds"], rates["arriving_per_s"]) == (None, None)
