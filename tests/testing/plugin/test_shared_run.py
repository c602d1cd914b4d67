"""Runs of several processes: T303, T305, T306."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.testing.launch import has_ended
from tests.broker_process import ended
from tests.client.live import wait_until
from tests.testing.inner import INI, WITHOUT_HYPOTHESIS, run_beside

pytest_plugins = ("pytester",)

# Each test notes its broker and its topics, and waits for the others to have begun.
NOTING = """
import json, os, pathlib, time
import pytest

@pytest.mark.parametrize("number", range(2))
def test_noting(odradek, odradek_topics, number):
    topics = [*odradek_topics(3)]
    note = {"pid": odradek.pid, "topics": topics}
    pathlib.Path(f"{number}.note").write_text(json.dumps(note))
    while len(list(pathlib.Path().glob("*.note"))) < 2:
        time.sleep(0.01)
"""


def notes(folder: Path) -> tuple[set[int], list[str]]:
    found = [json.loads(path.read_text()) for path in folder.glob("*.note")]
    topics = [topic for note in found for topic in note["topics"]]
    return {note["pid"] for note in found}, topics


@pytest.mark.parametrize(("option", "count"), [("run", 1), ("worker", 2)])
def test_t303_workers_share_a_broker_or_have_one_each(
    pytester: pytest.Pytester, option: str, count: int
) -> None:
    result = run_beside(pytester, NOTING, "-n2", f"--odradek-xdist={option}")
    result.assert_outcomes(passed=2)
    pids, topics = notes(pytester.path)
    assert len(pids) == count
    assert len(topics) == 6
    assert len(set(topics)) == 6 or count == 2
    assert all(has_ended(pid) for pid in pids)


# pytest-xdist begins with two tests for each of two workers.
DYING = """
import os, pathlib, time

def test_dying(odradek):
    pathlib.Path("pid").write_text(str(odradek.pid))
    while not pathlib.Path("other").exists():
        time.sleep(0.01)
    os._exit(1)

def same(odradek):
    assert odradek.pid == int(pathlib.Path("pid").read_text())

def test_after_the_death(odradek, odradek_topic):
    same(odradek)

def test_other(odradek, odradek_topic):
    pathlib.Path("other").touch()

def test_later(odradek, odradek_topic):
    while not pathlib.Path("pid").exists():
        time.sleep(0.01)
    same(odradek)
"""


def test_t306_a_worker_that_dies_takes_no_broker_with_it(
    pytester: pytest.Pytester,
) -> None:
    result = run_beside(pytester, DYING, "-n2")
    result.assert_outcomes(passed=3, failed=1)
    assert has_ended(int((pytester.path / "pid").read_text()))


FAILING = """
import pytest

@pytest.fixture(scope="session")
def odradek_config():
    return {"num.partitions": "many"}

@pytest.mark.parametrize("number", range(4))
def test_it(odradek, number):
    pass
"""


def test_of_all_workers_one_shows_why_there_is_no_broker(
    pytester: pytest.Pytester,
) -> None:
    result = run_beside(pytester, FAILING, "-n2")
    result.assert_outcomes(errors=1, skipped=3)


WAITING = """
import pathlib, time

def test_waiting(odradek):
    pathlib.Path("new").write_text(f"{odradek.pid} {odradek.directory}")
    pathlib.Path("new").rename("begun")
    time.sleep(1000)
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_t305_a_run_that_is_killed_leaves_nothing(
    pytester: pytest.Pytester, workers: str
) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(WAITING)
    begun = pytester.path / "begun"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *WITHOUT_HYPOTHESIS, workers],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    with ended(process):
        wait_until(lambda: begun.exists() or process.poll() is not None)
        pid, directory = begun.read_text().split()
        process.kill()
        wait_until(lambda: has_ended(int(pid)))
        assert not os.path.exists(directory)
        with suppress(ProcessLookupError):  # a worker may sleep on
            os.killpg(process.pid, signal.SIGKILL)
