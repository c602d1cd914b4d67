"""What a run starts, and what happens when that cannot be started."""

import shutil
from pathlib import Path

import pytest

from odradek.testing.plugin.run import _key
from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)


S = {"snapshot": Path("s")}


def test_options_and_snapshots_tell_brokers_apart() -> None:
    assert _key(None) == _key({})
    assert _key({"a": 1, "b": Path("x")}) == _key({"b": Path("x"), "a": 1})
    assert (
        len({_key(None), _key({"a": 1}), _key(None, S), _key(None, {"acl": True})}) == 4
    )


FAILING = """
import pytest
from odradek.testing import TestCase, factories

def test_first(odradek_topic):
    pass

def test_second(odradek_topic):
    pass

def test_dynamic(request):
    request.getfixturevalue("odradek")

def test_own(odradek_own):
    pass

other = factories.broker(scope="module", config={"num.partitions": "few"})

def test_of_a_module(other):
    pass

def test_of_a_module_again(other):
    pass

def test_without():
    pass
"""

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def odradek_config():
    return {"num.partitions": "many"}
"""


def test_the_first_errors_with_the_log_and_the_others_skip(
    pytester: pytest.Pytester,
) -> None:
    result = run_inside(pytester, FAILING, "-rs", conftest=CONFTEST)
    result.assert_outcomes(passed=1, skipped=4, errors=2)
    result.stdout.fnmatch_lines(["E*BrokerError: the broker did not start:"])
    result.stdout.fnmatch_lines(["E*many*num.partitions*"])
    result.stdout.fnmatch_lines(["SKIPPED*did not start, as an earlier error says*"])


def test_what_is_kept_is_there_afterwards(pytester: pytest.Pytester) -> None:
    source = """
import pathlib

def test_keep(odradek, odradek_topic):
    pathlib.Path("kept").write_text(str(odradek.directory))
"""
    run_inside(pytester, source, "--odradek-keep").assert_outcomes(passed=1)
    directory = Path((pytester.path / "kept").read_text())
    assert (directory / "data").is_dir()
    assert "is deleted" not in (directory / "log").read_text()
    shutil.rmtree(directory)
