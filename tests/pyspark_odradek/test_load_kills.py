"""`odradek pipeline load` killed at random moments, until a run gets through.

Whoever reads committed records finds each row once, and nothing else. The JVM of a
killed driver may go on for a moment: its tasks still send, and must come too late.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.cluster import Cluster
from client.topics import NewTopic, create_topic
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in

from . import spark_jars
from .conftest import skip_or_fail

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
ROUNDS = 50 if IS_LONG else 1
FILES, ROWS = 6, 1500
PARTITIONS = 3
RUN_TIMEOUT_S = 240
STEP = re.compile(r'"step": "load"')


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six files, so six transactions, of rows that differ."""
    import pyarrow as pa
    import pyarrow.parquet

    location = tmp_path_factory.mktemp("load") / "table"
    location.mkdir()
    for number in range(FILES):
        ids = range(number * ROWS, (number + 1) * ROWS)
        rows = pa.table(
            {"key": [str(n % 97) for n in ids], "value": list(map(str, ids))}
        )
        path = location / f"part-{number}.parquet"
        pyarrow.parquet.write_table(rows, path)
        os.utime(path, (number + 1, number + 1))
    return location


@contextlib.contextmanager
def loading(
    table: Path, topic: str, address: str, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A driver in a group of its own; nothing of it is left behind."""
    command = [sys.executable, "-P", "-m", "broker", "pipeline", "load"]
    command += ["--table", str(table), "--topic", topic, "--job", f"job-{topic}"]
    command += ["--batch-size", "1", "--bootstrap-server", address]
    command += ["--master", "local[2]", "--conf", "spark.driver.memory=512m"]
    command += ["--conf", "spark.sql.execution.arrow.maxRecordsPerBatch=100"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def wait_for_steps(process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Return when it has told so many batches, or has ended."""
    deadline = time.monotonic() + RUN_TIMEOUT_S
    while process.poll() is None and len(STEP.findall(log.read_text())) < count:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


@pytest.mark.timeout(RUN_TIMEOUT_S * (20 if IS_LONG else 3))
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_each_row_is_there_once(
    broker_process: BrokerProcess,
    cluster: Cluster,
    table: Path,
    tmp_path: Path,
    seed: int,
) -> None:
    skip_or_fail(spark_jars.java_missing())
    chance = random.Random(seed)
    topic = f"killed-{seed}"
    create_topic(cluster, NewTopic(topic, PARTITIONS))
    log = tmp_path / "load.log"
    log.touch()
    with contextlib.ExitStack() as leftovers:
        # The group of a killed driver, with its JVM, lives on until the test ends.
        steps = 0
        for _ in range(1 + seed % 2):
            process = leftovers.enter_context(
                loading(table, topic, broker_process.address, log)
            )
            steps += chance.randint(1, 2)
            wait_for_steps(process, log, steps)
            time.sleep(chance.uniform(0, 0.4))
            os.kill(process.pid, signal.SIGKILL)
            process.wait(30)
        last = leftovers.enter_context(
            loading(table, topic, broker_process.address, log)
        )
        assert last.wait(RUN_TIMEOUT_S) == 0, log.read_text()
    settle(cluster, topic)
    found: Counter[bytes | None] = Counter()
    for number in range(PARTITIONS):
        found.update(record.value for record in records_in(cluster, topic, number))
    assert set(found.values()) == {1}
    assert set(found) == {str(number).encode() for number in range(FILES * ROWS)}
