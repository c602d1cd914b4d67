"""`odradek pipeline load` killed at random moments, until a run gets through.

Whoever reads committed records finds each row once, and nothing else: here and in
Apache Kafka, into which the same driver loads. The JVM of a killed driver may go on for
a moment: its tasks still send, and must come too late.
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

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.topics import NewTopic, create_topic
from odradek.pipeline.commands.load import command
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka import jars
from tests.broker_process import BrokerProcess
from tests.client.live import connected, settle
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S
from tests.sampling import sampled

ROUNDS = 50
FILES, ROWS = 6, 1500
PARTITIONS = 3
STEP = re.compile(r'"step": "load"')
WITH_KAFKA_ITSELF = 5  # of so many rounds one
OFTEN = 4  # without it, and with a single kill


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


@pytest.fixture
def addresses(
    broker_process: BrokerProcess, request: pytest.FixtureRequest, seed: int
) -> list[str]:
    """The brokers that are loaded: ours, and Apache Kafka where it can run."""
    found = [broker_process.address]
    if seed % WITH_KAFKA_ITSELF == 0 and not (
        jars.missing() and os.environ.get("CI") != "true"
    ):
        found.append(request.getfixturevalue("kafka_node").address)
    return found


def load_of(table: Path, topic: str, address: str, *, by_spark: bool) -> list[str]:
    given = ["--table", str(table), "--topic", topic, "--job", f"job-{topic}"]
    if by_spark:
        given += ["--option", "mergeSchema=true"]  # its tasks read the files themselves
    return [*given, "--batch-size", "1", "--bootstrap-server", address]


@contextlib.contextmanager
def loading(loads: list[list[str]], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver in a group of its own; nothing of it is left behind."""
    module = "tests.pipeline.loads_worker"
    words = [word for load in loads for word in ("--", *load)]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def wait_for_steps(process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Return when it has told so many batches, or has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and len(STEP.findall(log.read_text())) < count:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


@pytest.mark.parametrize("seed", sampled(range(ROUNDS), OFTEN))
@pytest.mark.usefixtures("shared_spark")
def test_each_row_is_there_once(
    addresses: list[str], table: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    topic = f"killed-{seed}"
    for address in addresses:
        with connected_to(address) as cluster:
            create_topic(cluster, NewTopic(topic, PARTITIONS))
    loads = [load_of(table, topic, each, by_spark=seed % 4 > 1) for each in addresses]
    log = tmp_path / "load.log"
    log.touch()
    with contextlib.ExitStack() as leftovers:
        # The group of a killed driver, with its JVM, lives on until the test ends.
        steps = 0
        for _ in range(1 + seed % 2):
            process = leftovers.enter_context(loading(loads, log))
            steps += chance.randint(len(loads), 2 * len(loads))
            wait_for_steps(process, log, steps)
            time.sleep(chance.uniform(0, 0.4))
            process.kill()  # if it has not ended by itself
            process.wait(30)
        for load in loads:
            assert command(load) == 0
        for address in addresses:
            with connected_to(address) as cluster:
                check(cluster, topic)


def connected_to(address: str) -> contextlib.AbstractContextManager[Cluster]:
    return connected(int(address.rpartition(":")[2]))


def check(cluster: Cluster, topic: str) -> None:
    """Each row is there once, and how far the job is."""
    settle(cluster, topic)
    found: Counter[bytes | None] = Counter()
    for number in range(PARTITIONS):
        found.update(record.value for record in records_in(cluster, topic, number))
    assert set(found.values()) == {1}
    assert set(found) == {b"%d" % number for number in range(FILES * ROWS)}
    committed = committed_offsets(cluster, f"load-job-{topic}")
    assert committed[TopicPartition(topic, 0)].offset == FILES - 1
