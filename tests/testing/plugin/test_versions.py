"""The plugin beside other plugins, and without them; on the pytests that there are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.inner import INI, WITHOUT_HYPOTHESIS, run_beside

pytest_plugins = ("pytester",)

SAMPLE = """
import pytest
from odradek.testing import TestCase, assert_records

def test_records(odradek, odradek_topic):
    odradek_topic.produce(["a", "b"])
    assert_records(odradek_topic, ["a", "b"])

def test_faults(odradek, odradek_topic, odradek_faults):
    odradek_faults.drop("Produce", topic=odradek_topic)

@pytest.mark.parametrize("number", range(2))
def test_own(odradek_own, odradek_group, odradek_txn_id, number):
    odradek_own.topic("t").produce(["a"])
    odradek_own.kill()
    odradek_own.start()

class Test(TestCase):
    def test_unit(self):
        assert self.odradek_topic().produce(["a"])

def test_failing(odradek, odradek_topic):
    odradek_topic.produce(["shown"])
    assert 0
"""
OUTCOMES = {"passed": 5, "failed": 1}
ALONE = ("-p", "no:xdist", "-p", "no:asyncio", "-p", "no:anyio", "-p", "no:timeout")


@pytest.mark.parametrize(
    "others", [ALONE, pytest.param(("-n0",), marks=pytest.mark.long), ("-n2",)]
)
def test_with_other_plugins_and_without(
    pytester: pytest.Pytester, others: tuple[str, ...]
) -> None:
    result = run_beside(pytester, SAMPLE, *others)
    result.assert_outcomes(**OUTCOMES)
    result.stdout.fnmatch_lines(['*"value": "shown"*'])


@pytest.mark.long
@pytest.mark.parametrize("version", ["8.2", "8.4", "9.0", "9.1", "9.2"])
def test_on_the_pytests_that_there_are(
    pytester: pytest.Pytester, version: str, tmp_path: Path
) -> None:
    """Each is installed in front of the one that is here."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path)]
    done = subprocess.run([*pip, f"pytest=={version}.*"], check=False)
    if done.returncode != 0:
        pytest.skip(f"pytest {version} cannot be installed here")
    pytester.makeini(INI)
    pytester.makepyfile(test_inner=SAMPLE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", *WITHOUT_HYPOTHESIS]
    shown = subprocess.run(
        [*command, "--version"], env=environment, capture_output=True, text=True
    )
    assert f"pytest {version}." in shown.stdout + shown.stderr
    for others in (ALONE, ("-n2",)):
        ran = subprocess.run(
            [*command, *others], env=environment, capture_output=True, text=True
        )
        assert "1 failed, 5 passed" in ran.stdout, ran.stdout
