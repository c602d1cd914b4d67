"""The commands on a cluster: a master, and two workers that see different files."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.broker_process import BrokerProcess
from tests.pipeline import installed_extra
from tests.pipeline.conftest import skip_or_fail
from tests.pipeline.feeding import create, send
from tests.pipeline.standalone_cluster import (
    SMALL,
    StandaloneCluster,
    can_unshare,
    standalone_cluster,
)
from tests.pipeline.table_readers import rows_of

pytestmark = [pytest.mark.usefixtures("spark_java"), pytest.mark.timeout(3000)]

# One after the other in one process, for Java takes its time to start.
COMMANDS = """
import contextlib, io, json, sys
from odradek.broker.cli.main import main

for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["pipeline", *command])
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""
NEAR, FAR = "127.0.0.1", "127.0.0.2"


class Place(NamedTuple):
    """A cluster, what its workers have, and a broker."""

    cluster: StandaloneCluster
    address: str
    shared: Path
    hidden: Path
    python: Path
    bare_python: Path

    def run(self, *commands: list[str], python: Path | None = None) -> "list[Done]":
        """What the commands said, with this Python for all of Spark."""
        small = [f"--conf={name}={value}" for name, value in SMALL.items()]
        given = [["--master", self.cluster.master, *small]] * len(commands)
        wanted = [[*each, *more] for each, more in zip(commands, given, strict=True)]
        done = subprocess.run(
            [sys.executable, "-c", COMMANDS, json.dumps(wanted)],
            env={
                **os.environ,
                "PYSPARK_PYTHON": str(python or self.python),
                # Of somebody's notebooks.
                "PYSPARK_DRIVER_PYTHON": "jupyter",
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-5000:]
        return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def place(
    spark_java: None,
    broker_process: BrokerProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    """The far worker has neither the folder nor, at one path, the packages."""
    if not can_unshare():
        skip_or_fail("a process must be allowed to mount: unshare -m")
    root = tmp_path_factory.mktemp("standalone")
    for name in ("shared", "hidden", "nothing", "cluster"):
        (root / name).mkdir()
    links = root / "links"
    installed_extra.link(links, "delta", "iceberg")
    python = installed_extra.python_script(links, root / "python")
    usual = installed_extra.python_script(links, root / "python-near")
    (root / "empty").mkdir()
    bare = installed_extra.python_script(root / "empty", root / "python-bare")
    with standalone_cluster(root / "cluster") as cluster:
        cluster.start_worker(NEAR)
        cluster.start_worker(FAR, {root / "hidden": root / "nothing", usual: bare})
        yield Place(
            cluster,
            broker_process.address,
            root / "shared",
            root / "hidden",
            python,
            usual,
        )


def fill(place: Place, topic: str, count: int = 300) -> None:
    create(place.address, topic, 3)
    for partition in range(3):
        values = [b'{"id": %d}' % number for number in range(partition, count, 3)]
        send(place.address, topic, values, partition)


def test_all_machines_are_asked_and_do_their_part(place: Place, topic: str) -> None:
    fill(place, topic)
    brokers = ["--bootstrap-server", place.address]
    table = place.shared / topic
    typed = ["--value-format=json", "--schema=id BIGINT"]
    asked, exported = place.run(
        ["doctor", *brokers, "--path", str(place.hidden)],
        ["export", topic, str(table), *brokers, *typed],
    )
    assert asked.code == 1
    assert "2 on 2 machines were asked" in asked.out
    assert "all 2 reach the driver" in asked.out
    (found,) = [line for line in asked.out.splitlines() if line.startswith("FAIL")]
    assert found.startswith(f"FAIL  worker: path          {FAR} (executor ")
    assert found.endswith("No such file or directory (as user 0)")
    assert exported.code == 0, exported.err
    assert rows_of("duckdb", table, "id") == list(range(300))


@pytest.mark.long
def test_a_machine_without_the_packages(place: Place, topic: str) -> None:
    """Its tasks are done by the other one; the doctor says what it lacks."""
    brokers = ["--bootstrap-server", place.address]
    (asked,) = place.run(["doctor", *brokers], python=place.bare_python)
    assert asked.code == 1, asked.out
    lines = asked.out.splitlines()
    (found,) = [line for line in lines if line.startswith("FAIL")]
    assert found.startswith(f"FAIL  worker                {FAR} (executor ")
    assert "no odradek, no pyarrow, no numpy, no pandas" in found


@pytest.mark.long
def test_a_task_says_what_its_machine_lacks(place: Place, topic: str) -> None:
    fill(place, topic)
    given = ["--bootstrap-server", place.address]
    once = ["--conf", "spark.task.maxFailures=1"]  # nor is it tried elsewhere
    table = str(place.hidden / topic)
    (unseen,) = place.run(["export", topic, table, *given, *once])
    assert unseen.code == 1
    said = unseen.err.splitlines()[-1]
    assert f" does not see {table}/_stage/" in said
    assert said.endswith(tuple(f"so said a task on {FAR} (executor {n})" for n in "01"))
    (bare,) = place.run(
        ["export", topic, str(place.shared / topic), *given, *once],
        python=place.bare_python,
    )
    assert bare.code == 1
    said = bare.err.splitlines()[-1]
    assert f"export: The Python of {FAR} (executor " in said
    assert " does not have pyarrow: install odradek with its extra" in said
