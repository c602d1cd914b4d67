"""Tests of unittest with a broker, without pytest and with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)

MODULE = """
import unittest
import odradek.testing

class FirstTest(odradek.testing.TestCase):
    def test_a_topic_of_its_own(self):
        first, second = self.odradek_topic(), self.odradek_topic(partitions=3)
        assert first == "FirstTest-test_a_topic_of_its_own-main-1", first
        assert second.partitions == 3
        assert self.odradek_group() != self.odradek_txn_id()
        FirstTest.pid = self.odradek.pid

    def test_another(self):
        self.odradek_topic().delete()
        with self.assertRaises(odradek.testing.SharedBroker):
            self.odradek.kill()

class SecondTest(odradek.testing.TestCase, unittest.IsolatedAsyncioTestCase):
    async def test_the_same_broker(self):
        await self.odradek.aio.topic("mine")
        assert self.odradek.pid == FirstTest.pid

class ThirdTest(odradek.testing.TestCase):
    odradek_config = {"num.partitions": 2}

    def test_a_broker_of_the_class(self):
        assert self.odradek.pid != FirstTest.pid
        self.odradek.kill()
        self.odradek.start()
"""


def test_with_unittest_alone(tmp_path: Path) -> None:
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-W", "error", "-m", "unittest", "-v", "test_module"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 4 tests" in done.stderr
    assert "Warning" not in done.stderr


def test_with_pytest_it_is_the_broker_of_the_run(pytester: pytest.Pytester) -> None:
    fixture = """
def test_fixture(odradek):
    assert odradek.pid == FirstTest.pid
"""
    run_inside(pytester, MODULE + fixture).assert_outcomes(passed=5)
