"""A cluster whose two workers see different files, and the commands that run on it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.pipeline import installed_extra
from tests.pipeline.feeding import create, send
from tests.pipeline.standalone_cluster import (
    SMALL,
    StandaloneCluster,
    standalone_cluster,
)

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

    def run(
        self,
        *commands: list[str],
        python: Path | str = "",
        master: str = "",
        more: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "list[Done]":
        """What the commands said, with this Python for all of Spark.

        A sink's job file says by itself where it runs.
        """
        small = [f"--conf={name}={value}" for name, value in SMALL.items()]
        given = ["--master", master or self.cluster.master, *small]
        wanted = [
            each if each[0] == "sink" else [each[0], *given, *each[1:]]
            for each in commands
        ]
        done = subprocess.run(
            [sys.executable, "-c", COMMANDS, json.dumps(wanted)],
            env={
                **os.environ,
                "PYSPARK_PYTHON": str(python or self.python),
                # Of somebody's notebooks.
                "PYSPARK_DRIVER_PYTHON": "jupyter",
                "SPARK_LOCAL_IP": "127.0.0.1",
                **(more or {}),
            },
            cwd=cwd,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-5000:]
        return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


class Done(NamedTuple):
    code: int
    out: str
    err: str


def fill(place: Place, topic: str, count: int = 300) -> None:
    create(place.address, topic, 3)
    for partition in range(3):
        values = [b'{"id": %d}' % number for number in range(partition, count, 3)]
        send(place.address, topic, values, partition)


@contextmanager
def running_place(root: Path, address: str) -> Iterator[Place]:
    """The far worker has neither the folder nor, at one path, the packages."""
    for name in ("shared", "hidden", "nothing", "empty", "cluster"):
        (root / name).mkdir()
    links = root / "links"
    installed_extra.link(links, "delta", "iceberg")
    python = installed_extra.python_script(links, root / "python")
    usual = installed_extra.python_script(links, root / "python-near")
    bare = installed_extra.python_script(root / "empty", root / "python-bare")
    with standalone_cluster(root / "cluster") as cluster:
        cluster.start_worker(NEAR)
        cluster.start_worker(FAR, {root / "hidden": root / "nothing", usual: bare})
        yield Place(
            cluster,
            address,
            root / "shared",
            root / "hidden",
            python,
            usual,
        )
