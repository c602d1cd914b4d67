"""Columns that are found out once, and then stay."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.sink.pinned_schema import pinned
from odradek.pipeline.values.decoding import ValueFormat
from odradek.terminal.progress import Progress
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create, send
from tests.pipeline.sink.test_sink import once, prepare
from tests.pipeline.table_readers import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def nobody() -> Iterator[bytes]:
    raise AssertionError("nothing has to be found out")


def test_what_is_written_down_counts(tmp_path: Path) -> None:
    file = tmp_path / "a.schema"
    how = ValueFormat("json", schema="infer", schema_file=str(file))
    said = io.StringIO()
    found = pinned(how, lambda: [b'{"a": 1}'], Progress(said))
    assert (found.schema, file.read_text()) == ("a BIGINT", "a BIGINT\n")
    assert json.loads(said.getvalue())["columns"] == "a BIGINT"
    file.write_text("a INT, b STRING")
    assert pinned(how, nobody, Progress(said)).schema == "a INT, b STRING"
    plain = ValueFormat("json", schema="x BIGINT")
    assert pinned(plain, nobody, Progress(said)) is plain
    assert list(tmp_path.iterdir()) == [file]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    how = ValueFormat("json", schema="infer", schema_file=f"{tmp_path}/no/a.schema")
    with pytest.raises(JobError, match="cannot be written: No such file"):
        pinned(how, lambda: [b'{"a": 1}'], Progress(io.StringIO()))


def test_a_job_that_looks_first(
    broker_process: BrokerProcess, spark: "SparkSession", topic: str, tmp_path: Path
) -> None:
    address = broker_process.address
    create(address, topic, 2)

    def job(**value: str) -> Job:
        content: dict[str, Any] = {
            "name": topic,
            "source": {"bootstrap_servers": address, "topics": [topic]},
            "value": {"format": "json", "schema_file": "rows.schema", **value},
            "table": {"path": "rows"},
        }
        return read_job(content, tmp_path)

    with pytest.raises(JobError, match=r"schema_file: .*No such file"):
        job()
    with pytest.raises(JobError, match="have no records yet"):
        prepare(job(schema="infer"))
    values = [json.dumps({"n": n, "text": f"t{n}"}).encode() for n in range(500)]
    send(address, topic, [*values, b'{"n": 500, "last": [true]}'])
    told = once(job(schema="infer"), spark)
    assert told[0]["columns"] == "n BIGINT, text STRING, last ARRAY<BOOLEAN>"
    assert rows_of("duckdb", tmp_path / "rows", "n") == list(range(501))
    send(address, topic, [b'{"n": 501, "new": 1}'], 1)
    assert all(step["step"] != "schema" for step in once(job(schema="infer"), spark))
    once(job(), spark)  # the file says it by itself
    assert rows_of("duckdb", tmp_path / "rows", "n") == list(range(502))
