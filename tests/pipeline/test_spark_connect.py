"""The commands on a server of Spark Connect, which is another process."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from odradek.pipeline.workers.python import worker_python
from tests.broker_process import BrokerProcess, ended
from tests.patience import PATIENCE_S
from tests.pipeline.conftest import skip_or_fail
from tests.pipeline.feeding import create, send
from tests.pipeline.table_readers import rows_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(3000),
]
STARTED = re.compile(r"Spark Connect server started at: .*?:(\d+)\s*$", re.MULTILINE)
# In a process of its own: a session of Spark Connect is one for all of it.
COMMANDS = """
import json, sys
from odradek.broker.cli.main import main

for command in json.loads(sys.argv[1]):
    code = main(["pipeline", *command])
    assert code == 0, (command, code)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that runs tasks itself."""
    if importlib.util.find_spec("grpc") is None:
        skip_or_fail("pip install '.[connect]'")
    folder = tmp_path_factory.mktemp("connect")
    options = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(spark_submit), "--master", "local[1]", "--driver-memory", "600m"]
    command += [part for each in options.items() for part in ("--conf", "=".join(each))]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = {**os.environ, "PYSPARK_PYTHON": worker_python()}
    environment.pop("PYSPARK_DRIVER_PYTHON", None)
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env={**environment, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=output,
            stderr=output,
        )
    with ended(process):
        deadline = time.monotonic() + PATIENCE_S
        while (found := STARTED.search(log.read_text(errors="replace"))) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(log.read_text(errors="replace")[-3000:])
            time.sleep(0.05)
        yield f"sc://127.0.0.1:{found[1]}"


def run(server: str, *commands: list[str]) -> str:
    wanted = [[*each, "--master", server] for each in commands]
    environment = {**os.environ, "JAVA_HOME": "/no/java/here"}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(wanted)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-5000:]
    return done.stdout


def test_a_topic_becomes_a_table_and_a_topic_again(
    server: str, broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    address, copy, table = broker_process.address, f"{topic}-copy", tmp_path / "table"
    brokers = ["--bootstrap-server", address]
    create(address, topic, 2)
    create(address, copy, 2)
    for partition in range(2):
        values = [b'{"id": %d}' % number for number in range(partition, 200, 2)]
        send(address, topic, values, partition)
    typed = ["--value-format=json", "--schema=id BIGINT", "--min-partitions=2"]
    said = run(
        server,
        ["doctor", *brokers, "--path", str(tmp_path)],
        ["export", topic, str(table), *brokers, *typed],
        ["load", "--table", str(table), "--topic", copy, "--job", copy, *brokers],
        ["compact", str(table), "--file-size", "1m"],
        ["audit", str(broker_process.data_dir), "--topic", topic],
    )
    assert "all is well" in said
    assert "1 on 1 machine were asked" in said
    assert f"200 rows in {table}" in said
    assert f"{copy}: 200 records of {table} loaded" in said
    assert "2 files, now 1" in said
    assert ": sound\n" in said
    assert rows_of("duckdb", table, "id") == list(range(200))


def test_the_cores_of_the_server_are_known(server: str) -> None:
    asked = (
        "import sys\n"
        "from pyspark.sql import SparkSession\n"
        "from odradek.pipeline.spark.executors import Executors\n"
        "spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()\n"
        "print(Executors(spark).core_count)\n"
    )
    command = [sys.executable, "-c", asked, server]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr[-3000:]


FAILING = """
import sys
from odradek.pipeline.jobs.stream_failure import in_one_line
from odradek.pipeline.spark.executors import Executors
from odradek.pipeline.spark.session import spark_session

with in_one_line():
    Executors(spark_session("failing", sys.argv[1])).run(int, ["1", "one"])
"""


def test_a_task_that_fails_says_why(server: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING, server], capture_output=True, text=True
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("odradek.pipeline.job_errors.JobError: ValueError: invalid")
