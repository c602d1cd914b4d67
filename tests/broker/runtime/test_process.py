import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.runtime.process import (
    loop_factory,
    open_files_limit,
    run_until_signal,
)
from odradek.broker.runtime.start_error import StartError
from tests.garbage import thaw
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True, scope="module")
def same_garbage_as_before() -> Iterator[None]:
    yield
    thaw()


@pytest.fixture(autouse=True)
def same_settings_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    switch_interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(switch_interval)
    gc.set_threshold(*thresholds)


class Recorder:
    """Notes what is done with it."""

    exit_code = 0

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.steps: list[str] = []
        self.loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.steps.append("start")
        if self.fails:
            raise StartError("expected by this test")

    def ready_line(self) -> str:
        return "ready"

    def hang_up(self) -> bool:
        self.steps.append("hang up")
        return len(self.steps) == 3

    async def stop(self) -> None:
        self.steps.append("stop")


def test_what_has_failed_says_so_when_it_has_stopped() -> None:
    server = Recorder()

    def announce(_: str) -> None:
        server.exit_code = 1
        os.kill(os.getpid(), signal.SIGTERM)

    assert run_until_signal(server, loop="asyncio", announce=announce) == 1
    assert server.steps == ["start", "stop"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_signal_stops_in_order(loop: str, number: signal.Signals) -> None:
    server = Recorder()

    def announce(line: str) -> None:
        server.steps.append(line)
        os.kill(os.getpid(), number)

    assert run_until_signal(server, loop=loop, announce=announce) == 0
    assert server.steps == ["start", "ready", "stop"]
    assert (loop == "uvloop") == type(server.loop).__module__.startswith("uvloop")
    assert gc.isenabled()
    assert sys.getswitchinterval() == pytest.approx(0.0005)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_hangup_stops_who_has_nothing_to_read_again(loop: str) -> None:
    server = Recorder()

    def announce(line: str) -> None:
        server.steps.append(line)
        os.kill(os.getpid(), signal.SIGHUP)
        assert server.loop is not None
        server.loop.call_soon(_again_after, server)

    assert run_until_signal(server, loop=loop, announce=announce) == 0
    assert server.steps == ["start", "ready", "hang up", "hang up", "stop"]


def _again_after(server: Recorder) -> None:
    """Send the second signal when the first has been seen."""
    assert server.loop is not None
    if "hang up" in server.steps:
        os.kill(os.getpid(), signal.SIGHUP)
    else:
        server.loop.call_soon(_again_after, server)


def test_who_is_told_not_to_hang_up_does_not() -> None:
    server = Recorder()

    def announce(line: str) -> None:
        server.steps.append(line)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_until_signal(server, loop="asyncio", announce=announce) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert server.steps == ["start", "ready", "stop"]


def test_a_start_that_fails_is_passed_on() -> None:
    server = Recorder(fails=True)
    with pytest.raises(StartError, match="expected"):
        run_until_signal(server)
    assert server.steps == ["start"]
    assert gc.isenabled()


SECOND_SIGNAL = """
import asyncio, os, signal
from odradek.broker.runtime.process import run_until_signal

class Stuck:
    async def start(self): pass
    def ready_line(self): return "ready"
    def hang_up(self): return False
    exit_code = 0
    async def stop(self):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

run_until_signal(Stuck(), announce=lambda _: os.kill(os.getpid(), signal.SIGTERM))
"""


def test_a_second_signal_ends_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SECOND_SIGNAL], cwd=ROOT, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 128 + signal.SIGTERM


def test_the_environment_chooses_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_LOOP", "asyncio")
    assert loop_factory() is asyncio.new_event_loop
    assert loop_factory("uvloop") is not asyncio.new_event_loop
    monkeypatch.delenv("ODRADEK_LOOP")
    assert loop_factory() is not asyncio.new_event_loop


def test_an_unknown_loop_is_refused() -> None:
    with pytest.raises(StartError, match="trio"):
        loop_factory("trio")


def test_without_uvloop_the_stock_loop_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.delenv("ODRADEK_LOOP", raising=False)
    assert loop_factory() is asyncio.new_event_loop
    with pytest.raises(StartError, match="not installed"):
        loop_factory("uvloop")


def test_the_limit_of_open_files_is_raised() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, limits[1]))
    try:
        raised = open_files_limit()
        assert raised > 512
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (raised, limits[1])
        assert open_files_limit() == raised
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
