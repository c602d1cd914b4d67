"""An audit on Spark's own small cluster: executors are processes with other eyes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.log_directories import make_directory, small_batches

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("spark_java"),
]
COMMAND = """
import sys
from odradek.broker.cli.main import main

sys.exit(main(["pipeline", "audit", sys.argv[1], "--master", sys.argv[2]]))
"""


def audit(
    folder: Path, path: str, spark_home: Path
) -> subprocess.CompletedProcess[str]:
    """In that folder, on two executors with folders of their own."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, path, "local-cluster[2,1,1024]"],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(spark_home)},
        capture_output=True,
        text=True,
    )


def test_executors_that_see_the_directory(tmp_path: Path, spark_home: Path) -> None:
    make_directory(tmp_path / "data", small_batches(40))
    done = audit(tmp_path, "data", spark_home)
    assert done.returncode == 0, done.stderr
    assert "40 batches, 80 records" in done.stdout
    assert done.stdout.endswith(": sound\n")


@pytest.mark.skipif(sys.platform != "linux", reason="by a path of Linux")
def test_executors_that_do_not(tmp_path: Path, spark_home: Path) -> None:
    make_directory(tmp_path / "data", small_batches(40))
    # Of each process another one: the driver has the data there, executors nothing.
    done = audit(tmp_path, "/proc/self/cwd/data", spark_home)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "in 4 pieces were not read, so nothing is said of any" in done.stderr
