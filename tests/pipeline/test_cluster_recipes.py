"""What docs/pipeline/cluster.md tells people to do, done."""

import os
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.client.live import connected, settle
from tests.client.test_producer import records_in
from tests.pipeline.cluster_place import Place, fill
from tests.pipeline.feeding import create
from tests.pipeline.standalone_cluster import SMALL
from tests.pipeline.table_readers import rows_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(3000),
]
TYPED = ["--value-format=json", "--schema=id BIGINT"]
SCRIPT = """
import sys
from pyspark.sql import SparkSession

master, address, topic, *small = sys.argv[1:]
builder = SparkSession.builder.master(master)
for option in small:
    builder = builder.config(*option.split("=", 1))
spark = builder.getOrCreate()

from pyspark_odradek import DefaultSource

spark.dataSource.register(DefaultSource)
frame = (
    spark.read.format("odradek")
    .option("kafka.bootstrap.servers", address)
    .option("subscribe", topic)
    .load()
)
print("rows", frame.count())
"""


@pytest.fixture
def archive(place: Place, tmp_path: Path) -> Path:
    """A packed environment, which is unpacked here, too, for the driver."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").write_text(place.python.read_text())
    (tmp_path / "env" / "bin" / "python").chmod(0o755)
    path = tmp_path / "env.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        packed.add(tmp_path / "env", ".")
    return path


def test_an_environment_that_travels_with_the_job(
    place: Place, topic: str, archive: Path
) -> None:
    fill(place, topic)
    brokers = ["--bootstrap-server", place.address]
    packed = ["--conf", f"spark.archives={archive}#env"]
    packed += ["--conf", "spark.pyspark.python=./env/bin/python"]
    table = place.shared / topic
    root = Path(__file__).parents[2]
    asked, exported = place.run(
        ["doctor", *brokers, *packed],
        ["export", topic, str(table), *brokers, *packed, *TYPED],
        python="/no/such/python",
        more={"PYTHONPATH": str(root)},
        cwd=archive.parent,
    )
    assert asked.code == 0, asked.out
    assert "2 on 2 machines were asked" in asked.out
    assert exported.code == 0, exported.err
    assert rows_of("duckdb", table, "id") == list(range(300))


def test_a_script_in_a_notebook(place: Place, topic: str, tmp_path: Path) -> None:
    """Whose PYSPARK_DRIVER_PYTHON is no Python for tasks."""
    fill(place, topic)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    small = [f"{name}={value}" for name, value in SMALL.items()]
    done = subprocess.run(
        [
            *(sys.executable, str(script), place.cluster.master),
            *(place.address, topic, *small),
        ],
        env={
            **os.environ,
            "PYSPARK_PYTHON": str(place.python),
            "PYSPARK_DRIVER_PYTHON": "jupyter",
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
    )
    assert "rows 300\n" in done.stdout, done.stderr[-5000:]


def test_a_port_that_the_firewall_lets_through(place: Place, topic: str) -> None:
    fill(place, topic)
    create(place.address, f"{topic}-copy", 3)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    brokers = ["--bootstrap-server", place.address]
    table = str(place.shared / topic)
    load = ["--table", table, "--topic", f"{topic}-copy", "--job", f"{topic}-copy"]
    here = ["--driver-address", f"localhost:{port}"]
    exported, loaded, taken = place.run(
        ["export", topic, table, *brokers],
        ["load", *load, *brokers, *here],
        ["load", *load, *brokers, "--driver-address", "198.51.100.7:1"]
        + ["--conf", "spark.driver.bindAddress=198.51.100.7"],
    )
    assert (exported.code, loaded.code) == (0, 0), loaded.err
    with connected(int(place.address.rpartition(":")[2])) as cluster:
        settle(cluster, f"{topic}-copy")
        counts = [len(list(records_in(cluster, f"{topic}-copy", n))) for n in range(3)]
    assert sum(counts) == 300
    assert taken.code == 1
    said = taken.err.splitlines()[-1]
    assert "load: Spark does not start: " in said
    assert "Cannot assign requested address" in said
