"""kill -9 of executors, workers, driver and master, while the tables lie in a store.

The store is busy now and then, and loses answers. At the end each row is there once.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.pipeline.tables.table import FORMATS
from tests.broker_process import BrokerProcess
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.pipeline.feeding import create
from tests.pipeline.sink_process import Driver, bad, good, send_rows
from tests.pipeline.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.pipeline.stores import URL, catalog, rows_in
from tests.pipeline.test_cluster_commands import job_file
from tests.pipeline.test_cluster_kills import VICTIMS, WORKERS, kill

__all__ = ["far_server", "far_store"]
KILLS = int(os.environ.get("ODRADEK_KILLS", "34"))  # of each format
pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(14400),
]


@pytest.fixture
def cluster(far_server: ObjectServer, tmp_path: Path) -> Iterator[StandaloneCluster]:
    """Its workers find the store by the environment, as the driver does."""
    (tmp_path / "cluster").mkdir()
    with standalone_cluster(tmp_path / "cluster") as running:
        for worker in WORKERS:
            running.start_worker(worker)
        yield running


def job_in_store(folder: Path, master: str, **words: str) -> Path:
    job = job_file(folder, master, **words)
    given = catalog(words["kind"], folder).items()
    pairs = ", ".join(f'{name} = "{value}"' for name, value in given)
    lines = f'path = "{URL}/rows"' + (f"\ncatalog = {{ {pairs} }}" if pairs else "")
    text = job.read_text().replace('path = "rows"', lines)
    job.write_text(text.replace("[source]", 'checkpoint = "checkpoint"\n[source]', 1))
    return job


@pytest.mark.parametrize("kind", FORMATS)
def test_each_row_once_whoever_dies(
    cluster: StandaloneCluster,
    far_server: ObjectServer,
    broker_process: BrokerProcess,
    topic: str,
    tmp_path: Path,
    kind: str,
) -> None:
    address = broker_process.address
    create(address, topic, 3)
    words = {"topic": topic, "address": address, "kind": kind}
    job = job_in_store(tmp_path, cluster.master, **words)
    driver, count = Driver.of_command("start", job), 0
    try:
        for number in range(KILLS):
            far_server.fail_at_random(0.02, number)
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
        far_server.fail_at_random(0)
    last = Driver.of_command("once", job)
    assert last.end() == 0, last.log()
    assert rows_in(far_server, kind, "id", tmp_path) == good(count)
    letters = rows_in(far_server, kind, "value", tmp_path, "rows-dead-letters")
    assert letters == bad(count)
    assert far_server.names("jobs/rows/_stage") == []
