"""The pipeline in examples/pipelines, run by Spark's own command."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.pipeline.workers.python import worker_python
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline.conftest import skip_or_fail
from tests.pipeline.feeding import create, send

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(3000),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "pipelines" / "orders"
# Of what is in the topics and the tables behind it.
CHECK = """
import json, sys
from odradek.pipeline.spark.session import spark_session

folder, brokers = sys.argv[1:]
conf = {"spark.sql.warehouse.dir": f"{folder}/spark-warehouse"}
spark = spark_session("check", "local[1]", conf)
read = spark.read.format("odradek").option("kafka.bootstrap.servers", brokers)
found = {
    "orders": spark.read.parquet(f"{folder}/spark-warehouse/orders").count(),
    "customers": spark.read.parquet(f"{folder}/spark-warehouse/customers").count(),
    "large": read.option("subscribe", "large-orders").load().count(),
}
print(json.dumps(found))
"""


def test_the_example_runs(tmp_path: Path) -> None:
    if any(importlib.util.find_spec(name) is None for name in ("grpc", "yaml")):
        skip_or_fail("pip install '.[connect]' pyyaml")
    with running_broker(tmp_path / "data") as broker:
        create(broker.address, "orders", 2)
        create(broker.address, "large-orders")
        folder = _copied(tmp_path)
        _send(broker)
        _run(folder, broker.address)
        found = _python(CHECK, str(folder), broker.address)
    assert json.loads(found.splitlines()[-1]) == {
        "orders": 100,
        "customers": 10,
        "large": 30,
    }


def _copied(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    shutil.copytree(EXAMPLE, folder)
    spec = folder / "spark-pipeline.yml"
    text = spec.read_text()
    (storage,) = [line for line in text.splitlines() if line.startswith("storage:")]
    spec.write_text(text.replace(storage, f"storage: {(tmp_path / 's').as_uri()}"))
    return folder


def _send(broker: BrokerProcess) -> None:
    """A hundred orders, of which thirty are large."""
    rows = [
        {"id": n, "customer": f"c{n % 10}", "amount": 1000 if n % 10 < 3 else 5}
        for n in range(100)
    ]
    send(broker.address, "orders", [json.dumps(row).encode() for row in rows])


def _run(folder: Path, brokers: str) -> None:
    command = Path(sys.executable).parent / "spark-pipelines"
    environment = {
        **os.environ,
        "BROKERS": brokers,
        "PYSPARK_PYTHON": worker_python(),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment.pop("PYSPARK_DRIVER_PYTHON", None)
    done = subprocess.run(
        [str(command), "run", "--spec", "spark-pipeline.yml"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
