"""Tables in a store become records of a topic, by the command: no jar is asked for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in
from tests.fakes.object_server import environment
from tests.fakes.stored_objects import EXPIRED, Fault, ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.pipeline.fake_job import JOB
from tests.pipeline.feeding import create
from tests.pipeline.stores import URL, table_at
from tests.pipeline.tables.partitions.divided_table import SCHEMA, by, commit_batch, row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["far_server", "far_store"]
KINDS = ["007", "a/b ä", None]


@pytest.fixture
def store(
    far_server: ObjectServer, monkeypatch: pytest.MonkeyPatch, spark: "SparkSession"
) -> ObjectServer:
    """Workers have their environment from a JVM that was there before."""
    for name, value in environment(far_server).items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return far_server


def fill(kind: str, folder: Path, batch: int) -> None:
    table = table_at(kind, JOB, folder)
    table.create(SCHEMA, partitioning=by(kind))
    table.publish(commit_batch(table, kind, batch, KINDS))
    table.close()


@pytest.mark.usefixtures("shared_spark")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("parquet", marks=pytest.mark.long),
        pytest.param("delta", marks=pytest.mark.long),
        "iceberg",
    ],
)
def test_each_row_once(
    kind: str,
    store: ObjectServer,
    topic: str,
    broker_process: BrokerProcess,
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    create(broker_process.address, topic, 1)
    given = ["--table", f"{URL}/rows", "--format", kind, "--topic", topic]
    given += ["--job", topic, "--key", "kind"]
    given += ["--bootstrap-server", broker_process.address]
    for batch, said in ((0, "12 records"), (1, "12 records"), (1, "nothing is new")):
        if said != "nothing is new":
            fill(kind, tmp_path, batch)
        assert main(["pipeline", "load", *given]) == 0, capsys.readouterr().err
        assert said in capsys.readouterr().out
    settle(cluster, topic)
    found = [
        (json.loads(each.value or b""), each.key)
        for each in records_in(cluster, topic, 0)
    ]
    expected = [row(number, KINDS) for number in range(24)]
    assert sorted((v["n"], v["kind"], key and key.decode()) for v, key in found) == [
        (each["n"], each["kind"], each["kind"]) for each in expected
    ]
    times = {value["n"]: value["_timestamp"] for value, _ in found}
    assert times[0].startswith("2026-01-31T12:00:00")


@pytest.mark.usefixtures("shared_spark", "store")
def test_what_is_said_of_what_does_not_fit(
    topic: str,
    broker_process: BrokerProcess,
    far_server: ObjectServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    create(broker_process.address, topic, 1)
    server = ["--bootstrap-server", broker_process.address]

    def load(*given: str) -> tuple[int, str]:
        options = ["--topic", topic, "--job", topic, *server]
        code = main(["pipeline", "load", *given, *options])
        return code, capsys.readouterr().err.splitlines()[-1]

    code, said = load("--table", f"{URL}/none")
    assert (code, "has no Parquet files" in said) == (1, True)
    code, said = load("--table", f"{URL}/rows", "--option", "mergeSchema=true")
    assert (code, "an option of Spark's reader" in said) == (2, True)
    code, said = load("--table", str(tmp_path), "--store", "region=r")
    assert (code, "--store: " in said) == (2, True)
    code, said = load("--table", f"{URL}/rows", "--store", "color=red")
    assert (code, "has no option color" in said) == (1, True)
    fill("parquet", tmp_path, 0)
    far_server.fail(Fault(EXPIRED, "GET", "kind=", 1000))
    code, said = load("--table", f"{URL}/rows")
    assert code == 1
    assert f"for {far_server.where()[7:]} have expired; renew them" in said
    far_server.fail()
    assert load("--table", f"{URL}/rows")[0] == 0
