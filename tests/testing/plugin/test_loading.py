"""The plugin is in every run of an environment: T301, T302, and what else is there."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.inner import INI, WITHOUT_HYPOTHESIS, run_inside

pytest_plugins = ("pytester",)

LOADING = """
import json, sys
import pytest

before, events = set(sys.modules), []

def hear(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and arguments[1] != "r"
    if event.startswith(("subprocess.", "socket.", "os.")) or writes:
        events.append(f"{event} {arguments}")

sys.dont_write_bytecode = True
sys.addaudithook(hear)
import odradek.testing.plugin
print(json.dumps([sorted(set(sys.modules) - before), events]))
"""
NEEDED = {
    "odradek",
    "odradek.testing",
    "odradek.testing.names",
    "odradek.testing.plugin",
    "odradek.testing.plugin.fixtures",
    "odradek.testing.runs",
}


def test_t301_it_loads_itself_and_does_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=True
    )
    modules, events = json.loads(done.stdout)
    assert set(modules) == NEEDED
    assert [event for event in events if not event.startswith("os.listdir")] == []


UNUSED = """
import sys

def test_nothing(pytestconfig):
    loaded = {name for name in sys.modules if name.startswith("odradek.testing")}
    assert "odradek.testing.process" not in loaded, loaded
    assert not pytestconfig.pluginmanager.has_plugin("odradek-watch")
"""


def test_t301_a_run_that_does_not_use_it_has_no_more_of_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(UNUSED)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


TAKEN = """
import broker, client, protocol, storage, testing

def test_names_are_the_users(odradek, odradek_topic):
    for module in broker, client, protocol, storage, testing:
        assert module.shout("x") == "X"

def test_own(odradek_own):
    assert odradek_own.topic("t")
"""


def test_t302_names_of_the_user_are_not_in_the_way(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("broker", "client", "protocol", "storage", "testing", "terminal"):
        package = pytester.path / name
        package.mkdir()
        (package / "__init__.py").write_text("def shout(text): return text.upper()\n")
    # One of Python's own, which nothing but the broker's process would load here.
    (pytester.path / "sqlite3.py").write_text("raise SystemExit('the user is here')\n")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.makeini(INI)
    pytester.makepyfile(TAKEN)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


BESIDE = """
import datetime, time
import freezegun
import pytest
import time_machine

@pytest.mark.disable_socket
def test_pytest_socket(odradek, odradek_topic):
    assert odradek_topic

def test_pytest_socket_with_a_broker_of_its_own(socket_disabled, odradek_own):
    odradek_own.topic("t").delete()
    odradek_own.kill()
    odradek_own.start()

@freezegun.freeze_time("2012-01-14")
def test_freezegun(odradek, odradek_topic, odradek_own):
    assert datetime.date.today().year == 2012
    odradek_own.topic("t").delete()
    odradek_own.stop()
    odradek_own.start()

@time_machine.travel("2050-01-14", tick=False)
def test_time_machine(odradek, odradek_topic, odradek_own):
    assert time.gmtime().tm_year == 2050
    odradek_own.topic("t").delete()
    odradek_own.stop()
    odradek_own.start()
"""


def test_sockets_and_clocks_that_are_patched_are_not_in_the_way(
    pytester: pytest.Pytester,
) -> None:
    run_inside(pytester, BESIDE).assert_outcomes(passed=4)


def test_with_few_files_a_broker_starts(pytester: pytest.Pytester) -> None:
    source = """
def test_few(odradek, odradek_topics):
    assert len(odradek_topics(20)) == 20
"""
    pytester.makeini(INI)
    pytester.makepyfile(source)
    few = (256, 256)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *WITHOUT_HYPOTHESIS],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_where_nothing_can_be_written_the_error_says_so(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.testing.broker.room", lambda: Path("/proc/nowhere"))
    source = """
def test_first(odradek):
    pass

def test_second(odradek):
    pass
"""
    result = run_inside(pytester, source)
    result.assert_outcomes(errors=1, skipped=1)
    result.stdout.fnmatch_lines(["E*no directory for the broker's data can be made*"])


TWICE = """
def test_it(odradek, odradek_topic, odradek_own):
    odradek_topic.produce(["one of this run"])
    assert len(odradek_topic.records(1)) == 1
    assert odradek_own.topic("t")
"""


def test_two_runs_at_once_have_nothing_to_do_with_each_other(
    pytester: pytest.Pytester,
) -> None:
    """Each with workers that share a broker; in one directory, even."""
    pytester.makeini(INI)
    pytester.makepyfile(TWICE)
    command = [sys.executable, "-m", "pytest", *WITHOUT_HYPOTHESIS, "-n1"]
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
