"""kill -9 of executors, workers, driver and master of a cluster, amid a sink.

Rows keep coming; after each kill the sink has to commit again. At the end each row is
in the table once, and nothing that was half done is left.
"""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.pipeline.tables.table import FORMATS
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import create
from tests.pipeline.sink_process import Driver, bad, good, java_below, send_rows
from tests.pipeline.standalone_cluster import (
    StandaloneCluster,
    standalone_cluster,
)
from tests.pipeline.table_readers import READERS, rows_of
from tests.pipeline.test_cluster_commands import job_file

KILLS = int(os.environ.get("ODRADEK_KILLS", "34"))  # of each format
pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(14400),
]
WORKERS = ("127.0.0.1", "127.0.0.2")
VICTIMS = ("executor", "worker", "driver", "master")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    (tmp_path / "cluster").mkdir()
    with standalone_cluster(tmp_path / "cluster") as running:
        for worker in WORKERS:
            running.start_worker(worker)
        yield running


def kill(victim: str, cluster: StandaloneCluster, driver: Driver) -> None:
    """And let somebody take its place, where nobody else does."""
    chosen = random.choice(WORKERS)
    if victim == "executor":
        for pid in java_below(cluster.processes[chosen].pid):
            os.kill(pid, signal.SIGKILL)
    elif victim == "worker":
        cluster.kill(chosen)
        cluster.start_worker(chosen)
    elif victim == "master":
        cluster.kill("master")
        cluster.start_master()
    else:
        driver.kill()


def left_behind(folder: Path) -> list[Path]:
    """What was written and is no file of a table; Spark leaves some of its own."""
    tables = [folder / "rows", folder / "rows-dead-letters"]
    staged = [path for table in tables for path in table.glob("_stage/*")]
    return [*staged, *(path for table in tables for path in table.rglob("*.tmp"))]


@pytest.mark.parametrize("kind", FORMATS)
def test_each_row_once_whoever_dies(
    cluster: StandaloneCluster,
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    address = broker_process.address
    create(address, topic, 3)
    job = job_file(tmp_path, cluster.master, topic=topic, address=address, kind=kind)
    driver, count = Driver.of_command("start", job), 0
    try:
        for number in range(KILLS):
            if driver.process.poll() is not None:
                driver = Driver.of_command("start", job)
            send_rows(address, topic, count, 600)
            count += 600
            driver.wait_for_batches(driver.batches(job) + 1)
            kill(VICTIMS[number % len(VICTIMS)], cluster, driver)
        if driver.process.poll() is None:
            assert driver.terminate() in (0, 1), driver.log()[-3000:]
    finally:
        driver.kill()
    assert Driver.of_command("once", job).end() == 0, job.with_suffix(
        ".err"
    ).read_text()
    for reader in READERS[kind]:
        assert rows_of(reader, tmp_path / "rows", "id") == good(count), reader
        letters = tmp_path / "rows-dead-letters"
        assert rows_of(reader, letters, "value") == bad(count), reader
    assert left_behind(tmp_path) == []
