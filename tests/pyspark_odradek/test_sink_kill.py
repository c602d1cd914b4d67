"""kill -9 of driver and executors of a sink, at random moments; and other accidents.

Each driver is a process of its own with a Spark of its own. The tables are read by
DuckDB, pandas and their own readers.
"""

import os
import random
import time
from pathlib import Path

import pytest

from pyspark_odradek.job_file import read_job_file
from pyspark_odradek.table import FORMATS, open_table
from tests.broker_process import BrokerProcess, running_broker
from tests.pyspark_odradek import spark_jars
from tests.pyspark_odradek.conftest import BROKER_OPTIONS, skip_or_fail
from tests.pyspark_odradek.feeding import create
from tests.pyspark_odradek.sink_process import (
    SinkProcess,
    bad,
    good,
    send_rows,
    write_job,
)
from tests.pyspark_odradek.table_readers import READERS, rows_of

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of the driver; as many of executors go with them.
KILLS = int(os.environ.get("ODRADEK_KILLS", "100" if IS_LONG else "1"))
COUNT = 600


@pytest.fixture(autouse=True)
def _java() -> None:
    skip_or_fail(spark_jars.java_missing())


def check(kind: str, folder: Path, count: int) -> None:
    for reader in READERS[kind]:
        assert rows_of(reader, folder / "rows", "id") == good(count), reader
        values = rows_of(reader, folder / "rows-dead-letters", "value")
        assert values == bad(count), reader


def lose_last_commit(folder: Path) -> bool:
    """What Spark knows of its last batch is lost, as when the disk was not synced."""
    commits = folder / "rows-checkpoint" / "commits"
    done = (
        sorted(int(n) for n in os.listdir(commits) if n.isdigit())
        if (commits.exists())
        else []
    )
    if not done:
        return False
    for name in (f"{done[-1]}", f".{done[-1]}.crc"):
        (commits / name).unlink(missing_ok=True)
    return True


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "kind",
    [
        # Each takes most of a minute; without Spark test_committer_kill has them all.
        pytest.param(kind, marks=[pytest.mark.long] if kind != "parquet" else [])
        for kind in FORMATS
    ],
)
def test_driver_and_executors_are_killed(
    kind: str, broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    address = broker_process.address
    create(address, topic, 3)
    job = write_job(tmp_path, kind, address, topic)
    count = 0
    for kill in range(KILLS):
        send_rows(address, topic, count, COUNT)
        count += COUNT
        sink = SinkProcess("once", job)
        sink.wait_for_batches(1)
        time.sleep(chance.uniform(0, 0.3))
        sink.kill_executor()
        sink.wait_for_batches(2)
        time.sleep(chance.uniform(0, 0.5))
        sink.kill_driver()
        if kill % 2 == 0:
            lose_last_commit(tmp_path)
        if IS_LONG and kill % 10 == 9:
            sink = SinkProcess("once", job)
            assert sink.end() == 0, sink.log()[-3000:]
            check(kind, tmp_path, count)
    sink = SinkProcess("once", job)
    assert sink.end() == 0, sink.log()[-3000:]
    check(kind, tmp_path, count)


@pytest.mark.timeout(3000)
def test_broker_is_killed_under_the_stream_and_the_checkpoint_is_lost(
    topic: str, tmp_path: Path
) -> None:
    with running_broker(tmp_path / "data", *BROKER_OPTIONS) as broker:
        create(broker.address, topic, 3)
        send_rows(broker.address, topic, 0, 300)
        job = write_job(tmp_path, "parquet", broker.address, topic)
        sink = SinkProcess("start", job)
        sink.wait_for_batches(2)
        broker.kill()
        time.sleep(1)
        broker.start()
        send_rows(broker.address, topic, 300, 300)
        table = open_table("parquet", str(tmp_path / "rows"), topic)

        def committed() -> int:
            last = table.last_commit(topic)
            return sum(last.ends.values()) if last else 0

        deadline = time.monotonic() + 500
        while committed() < 600 and sink.process.poll() is None:
            assert time.monotonic() < deadline, sink.log()[-3000:]
            time.sleep(0.05)
        assert sink.terminate() == 0, sink.log()[-3000:]
        check("parquet", tmp_path, 600)

        checkpoint = Path(read_job_file(job).checkpoint)
        checkpoint.rename(tmp_path / "gone")
        sink = SinkProcess("once", job)
        assert sink.end() == 1
        assert "--rebuild-checkpoint" in sink.log()
        send_rows(broker.address, topic, 600, 300)
        sink = SinkProcess("once", job, "--rebuild-checkpoint")
        assert sink.end() == 0, sink.log()[-3000:]
        check("parquet", tmp_path, 900)
