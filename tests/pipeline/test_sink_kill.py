"""kill -9 of driver and executors of a sink, at random moments; and other accidents.

Drivers that are killed are processes of their own, each with a Spark of its own. The
tables are read by DuckDB, pandas and their own readers.
"""

import os
import random
import time
from pathlib import Path

import pytest

from odradek.pipeline.commands.sink import command
from odradek.pipeline.jobs.job_file import read_job_file
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline.conftest import BROKER_OPTIONS
from tests.pipeline.feeding import create
from tests.pipeline.sink_process import Driver, bad, good, send_rows, write_job
from tests.pipeline.table_readers import READERS, rows_of

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of the driver, each under all formats; as many of executors go with them.
KILLS = int(os.environ.get("ODRADEK_KILLS", "100" if IS_LONG else "1"))
COUNT = 600


pytestmark = pytest.mark.usefixtures("spark_java")


@pytest.fixture
def _commands_here(shared_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only has to end well needs no process, and no Spark, of its own."""
    monkeypatch.setattr(
        "odradek.pipeline.commands.sink.stop_on_signals", lambda _: None
    )


def check(job: Path, count: int) -> None:
    """All readers of the format find each row once."""
    table = job.with_name(f"{job.stem}-rows")
    for reader in READERS[job.stem]:
        assert rows_of(reader, table, "id") == good(count), reader
        values = rows_of(reader, Path(f"{table}-dead-letters"), "value")
        assert values == bad(count), reader


def lose_last_commit(folder: Path, table: str = "rows") -> bool:
    """What Spark knows of its last batch is lost, as when the disk was not synced."""
    commits = folder / f"{table}-checkpoint" / "commits"
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


@pytest.mark.usefixtures("_commands_here")
def test_driver_and_executors_are_killed(
    broker_process: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    """One driver writes the tables of all formats: when it dies, all are torn.

    A single kill is of a driver with one of them.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    kinds = FORMATS if KILLS > 1 else (chance.choice(FORMATS),)
    address = broker_process.address
    create(address, topic, 3)
    count = 0
    for kill in range(KILLS):
        small = 10_000 if kill % 2 else 100
        jobs = [
            write_job(tmp_path, kind, address, topic, small, "1s") for kind in kinds
        ]
        send_rows(address, topic, count, COUNT)
        count += COUNT
        driver = Driver.of_all(*jobs)
        driver.wait_for_batches(1)
        time.sleep(chance.uniform(0, 0.3))
        driver.kill_executor()
        driver.wait_for_batches(len(jobs) + 1, each=1)
        time.sleep(chance.uniform(0, 0.5))
        driver.kill()
        if kill % 4 < 2:
            for kind in kinds:
                lose_last_commit(tmp_path, f"{kind}-rows")
        if kill % 10 == 9 or kill == KILLS - 1:
            for job in jobs:
                assert command(["once", str(job)]) == 0
                check(job, count)
    said = "".join(job.with_suffix(".err").read_text() for job in jobs)
    assert KILLS == 1 or '"step": "compacted"' in said


@pytest.mark.long
@pytest.mark.usefixtures("_commands_here")
def test_broker_is_killed_under_the_stream_and_the_checkpoint_is_lost(
    topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_broker(tmp_path / "data", *BROKER_OPTIONS) as broker:
        create(broker.address, topic, 3)
        send_rows(broker.address, topic, 0, 300)
        job = write_job(tmp_path, "parquet", broker.address, topic)
        driver = Driver.of_command("start", job)
        driver.wait_for_batches(2)
        broker.kill()
        time.sleep(1)
        broker.start()
        send_rows(broker.address, topic, 300, 300)
        described = read_job_file(job)
        table = open_table("parquet", described.table_path, described.name)

        def committed() -> int:
            last = table.last_commit(described.name)
            return sum(last.ends.values()) if last else 0

        deadline = time.monotonic() + 500
        while committed() < 600 and driver.process.poll() is None:
            assert time.monotonic() < deadline, driver.log()[-3000:]
            time.sleep(0.05)
        send_rows(broker.address, topic, 600, 300)  # it is ended amid their batches
        driver.wait_for_batches(driver.batches(job) + 1)
        assert driver.terminate() == 0, driver.log()[-3000:]
        ended = driver.log().rpartition('"stopping"')[2]
        assert "Traceback" not in ended, ended
        assert "\tat " not in ended, ended
        assert command(["once", str(job)]) == 0
        count = 900
        check(job, count)

        Path(described.checkpoint).rename(tmp_path / "gone")
        assert command(["once", str(job)]) == 1
        assert "--rebuild-checkpoint" in capsys.readouterr().err
        send_rows(broker.address, topic, count, 300)
        assert command(["once", str(job), "--rebuild-checkpoint"]) == 0
        check(job, count + 300)
