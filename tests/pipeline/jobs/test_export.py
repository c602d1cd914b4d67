"""A topic, or a part of it, becomes a table in one commit."""

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.client.cluster import Cluster
from odradek.client.records_deletion import delete_records
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs import export as export_module
from odradek.pipeline.jobs.export import Export, plan, run_export
from odradek.pipeline.jobs.job_source import Source
from odradek.pipeline.source.log_view import BrokerView
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition
from odradek.terminal.progress import Progress
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline.feeding import create, send
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.table_readers import READERS, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JSON = ValueFormat("json", schema="id BIGINT, text STRING")


def export_of(broker: BrokerProcess, topic: str, folder: Path, **more: Any) -> Export:
    source = Source(broker.address, (topic,))
    dead = str(folder / "letters")
    fields = {"value": JSON, "dead_letters": dead, **more}
    return Export(source, table_path=str(folder / "rows"), **fields)


def spans(export: Export, cluster: Cluster) -> list[tuple[int, int, int]]:
    view = BrokerView(cluster, committed=False)
    return [(each.partition, each.start, each.end) for each in plan(export, view)]


def test_ranges(
    broker_process: BrokerProcess, cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    create(broker_process.address, topic, 2)
    send(broker_process.address, topic, [b"x"] * 9)
    send(broker_process.address, topic, [b"x"] * 3, 1)
    whole = export_of(broker_process, topic, tmp_path)
    assert spans(whole, cluster) == [(0, 0, 9), (1, 0, 3)]
    some = replace(whole, partitions=(1,), starting="1")
    assert spans(some, cluster) == [(1, 1, 3)]
    times = {"starting": "2026-09-21T14:13:21Z", "ending": "2026-09-21T14:13:25Z"}
    assert spans(replace(whole, **times), cluster) == [(0, 1, 5), (1, 1, 3)]
    beyond = replace(whole, starting="5", ending="100")
    assert spans(beyond, cluster) == [(0, 5, 9), (1, 5, 5)]
    with pytest.raises(JobError, match="no partition 7; it has 0 to 1"):
        spans(replace(whole, partitions=(7,)), cluster)
    delete_records(cluster, {TopicPartition(topic, 0): 4})
    assert spans(whole, cluster) == [(0, 4, 9), (1, 0, 3)]
    with pytest.raises(JobError, match=f"{topic}-0 begins at offset 4; --from 2"):
        spans(replace(whole, starting="2"), cluster)


def test_rows_of_every_format(
    spark: "SparkSession", broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    create(broker_process.address, topic, 3)
    send_rows(broker_process.address, topic, 0, 200)
    for kind, readers in READERS.items():
        export = export_of(broker_process, topic, tmp_path / kind, table_format=kind)
        said = io.StringIO()
        commit = run_export(export, lambda: spark, Progress(said))
        assert (commit.row_count, commit.dead_letter_count) == (196, 4)
        assert '"exported"' in said.getvalue()
        for reader in readers:
            assert rows_of(reader, tmp_path / kind / "rows", "id") == good(200)
            letters = rows_of(reader, tmp_path / kind / "letters", "value")
            assert letters == bad(200)

    def no_spark() -> "SparkSession":
        raise AssertionError("it is done already")

    assert run_export(export, no_spark, Progress(io.StringIO())) == commit
    with pytest.raises(JobError, match="of other offsets"):
        run_export(replace(export, starting="5"), no_spark, Progress(io.StringIO()))
    source = replace(export.source, options={"onCorrupt": "perhaps"})
    wrong = replace(export, source=source, table_path=str(tmp_path / "wrong"))
    with pytest.raises(JobError, match="onCorrupt"):
        run_export(wrong, no_spark, Progress(io.StringIO()))


def test_a_broker_that_dies_meanwhile_leaves_nothing(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = export_module.DirectTasks
    with running_broker(tmp_path / "data") as broker:
        create(broker.address, "orders", 3)
        send_rows(broker.address, "orders", 0, 200)
        export = export_of(broker, "orders", tmp_path)
        quick = {"kafka.request.timeout.ms": "1000"}
        export = replace(export, source=replace(export.source, options=quick))

        def dies(*given: Any) -> Any:
            broker.kill()
            return made(*given)

        monkeypatch.setattr(export_module, "DirectTasks", dies)
        with pytest.raises(JobError, match=f"does not answer: {broker.address}"):
            run_export(export, lambda: spark, Progress(io.StringIO()))
        assert list((tmp_path / "rows").glob("*.parquet")) == []
        monkeypatch.undo()
        broker.start()
        run_export(export, lambda: spark, Progress(io.StringIO()))
        assert rows_of("duckdb", tmp_path / "rows", "id") == good(200)
