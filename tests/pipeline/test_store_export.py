"""A topic becomes a table in a store, by the command, with Spark; moto is the store."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs
from pyarrow import parquet as pq

from odradek.broker.cli.main import main
from odradek.pipeline.jobs.job_file import read_job_file
from odradek.pipeline.sink.sink import Sink
from odradek.pipeline.tables.places.place import open_place
from odradek.pipeline.tables.table import FORMATS
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create
from tests.pipeline.moto_store import KEYS, running_moto
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.stores import catalog
from tests.sampling import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPED = ["--value-format", "json", "--schema", "id BIGINT"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with running_moto("lake") as url:
        yield url


@pytest.fixture
def store(moto: str, monkeypatch: pytest.MonkeyPatch, spark: "SparkSession") -> str:
    """The keys are in the environment, also of workers, which have that of a JVM."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return moto


def column(kind: str, url: str, endpoint: str, name: str, folder: Path) -> list[object]:
    """By readers of others, who find the store by themselves."""
    if kind == "delta":
        from deltalake import DeltaTable

        options = open_place(url, {"endpoint": endpoint}).library_options
        rows = DeltaTable(url, storage_options=options).to_pyarrow_table()
    elif kind == "iceberg":
        from pyiceberg.catalog import load_catalog

        given = catalog(kind, folder) | {"s3.endpoint": endpoint}
        found = load_catalog("odradek", **given)
        table = found.load_table(f"odradek.{url.rpartition('/')[2]}")
        rows = table.scan().to_arrow()
        found.close()
    else:
        system = fs.S3FileSystem(
            endpoint_override=endpoint.removeprefix("http://"), scheme="http"
        )
        rows = pq.read_table(url.removeprefix("s3://"), filesystem=system)
    return sorted(rows[name].to_pylist())


@pytest.mark.usefixtures("shared_spark")
@pytest.mark.parametrize("kind", sampled(FORMATS, "delta"))
def test_export(
    kind: str,
    store: str,
    topic: str,
    broker_process: BrokerProcess,
    tmp_path: Path,
    spark: "SparkSession",
    capsys: pytest.CaptureFixture[str],
) -> None:
    create(broker_process.address, topic, 3)
    send_rows(broker_process.address, topic, 0, 200)
    url = f"s3://lake/{kind}-rows"
    given = ["--table-format", kind, "--store", f"endpoint={store}", *TYPED]
    given += ["--partition-by", "days(_timestamp)"]
    for name, value in catalog(kind, tmp_path).items():
        given += ["--catalog", f"{name}={value}"]
    given += ["--bootstrap-server", broker_process.address]
    for _ in range(2):  # what is done is found done
        assert main(["pipeline", "export", topic, url, *given]) == 0
        said = capsys.readouterr()
        assert said.out == f"196 rows in {url}, 4 dead letters\n"
        assert "secret-shown" not in said.err
        assert column(kind, url, store, "id", tmp_path) == good(200)
        letters = column(kind, f"{url}-dead-letters", store, "value", tmp_path)
        assert letters == bad(200)
    conf = dict(spark.sparkContext.getConf().getAll())
    assert "secret-shown" not in str(conf)


@pytest.mark.usefixtures("shared_spark")
def test_sink(
    store: str,
    topic: str,
    broker_process: BrokerProcess,
    tmp_path: Path,
    spark: "SparkSession",
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Small batches by the driver, others by tasks; then it is compacted."""
    create(broker_process.address, topic, 3)
    url = "s3://lake/sink"
    job = tmp_path / "job.toml"
    job.write_text(
        f'name = "{topic}"\ncheckpoint = "chk"\n'
        f'[source]\nbootstrap_servers = "{broker_process.address}"\n'
        f'topics = ["{topic}"]\nsmall_batch_records = 150\n'
        '[value]\nformat = "json"\nschema = "id BIGINT"\n'
        f'[table]\npath = "{url}"\nformat = "delta"\n'
        f'store = {{ endpoint = "{store}" }}\n'
    )
    for first, count in ((0, 200), (200, 100)):
        send_rows(broker_process.address, topic, first, count)
        sink = Sink(read_job_file(job), lambda: spark)
        try:
            sink.prepare()
            sink.run(once=True)
        finally:
            sink.close()
        assert column("delta", url, store, "id", tmp_path) == good(first + count)
    capsys.readouterr()
    assert main(["pipeline", "sink", "status", str(job)]) == 0
    assert "total lag: 0" in capsys.readouterr().out
    endpoint = ["--store", f"endpoint={store}"]
    assert main(["pipeline", "compact", url, *endpoint]) == 0
    assert "now 1 " in capsys.readouterr().out
    assert column("delta", url, store, "id", tmp_path) == good(300)


@pytest.mark.usefixtures("shared_spark")
def test_recipe_of_the_page(
    store: str,
    topic: str,
    broker_process: BrokerProcess,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What the page says after moto is there, with the port and topic it has here."""
    page = (ROOT / "docs" / "pipeline" / "stores.md").read_text()
    recipe = page.rpartition("```sh\n")[2].partition("```")[0]
    recipe = recipe.replace("http://127.0.0.1:5000", store)
    recipe = recipe.replace("export orders ", f"export {topic} ")
    for name, value in re.findall(r"(AWS_\w+)=(\S+)", recipe):
        monkeypatch.setenv(name, value)
    assert os.environ["AWS_ENDPOINT_URL"] == store
    create(broker_process.address, topic, 3)
    send_rows(broker_process.address, topic, 0, 10)
    command = shlex.split(recipe.strip().splitlines()[-1])
    assert command[0] == "odradek"
    server = ["--bootstrap-server", broker_process.address]
    assert main([*command[1:], *server]) == 0
    assert len(column("parquet", command[-1], store, "offset", tmp_path)) == 10
