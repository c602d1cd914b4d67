"""T305, the broker's half: whoever it runs for is killed, and it is gone."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.runtime import companion
from odradek.broker.runtime.companion import end_with_process
from odradek.broker.runtime.start_error import StartError
from tests.broker_process import ended, running_broker
from tests.patience import PATIENCE_S


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, until it is told or killed."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    with ended(process):
        yield process


def refused(process_id: int) -> int:
    raise OSError(errno.EPERM, "as in a container that knows no such call")


@pytest.fixture(params=["told", "looks", "refused"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways to learn of it: pidfd, and looking again and again."""
    monkeypatch.setattr(companion, "_LOOK_INTERVAL_S", 0.001)
    if request.param == "looks":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif request.param == "refused":
        monkeypatch.setattr(os, "pidfd_open", refused, raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("this system has no pidfd")


@pytest.mark.usefixtures("way")
async def test_it_is_told_of_the_end(owner: subprocess.Popen[bytes]) -> None:
    is_over = asyncio.Event()
    end_with_process(owner.pid, is_over.set)
    await asyncio.sleep(0)
    assert not is_over.is_set()
    owner.kill()
    owner.wait()
    async with asyncio.timeout(PATIENCE_S):
        await is_over.wait()


@pytest.mark.usefixtures("way")
async def test_who_has_ended_already_is_no_companion(
    owner: subprocess.Popen[bytes],
) -> None:
    owner.kill()
    owner.wait()
    with pytest.raises(StartError, match=f"={owner.pid}: there is no such process"):
        end_with_process(owner.pid)


async def test_somebody_else_s_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def kill(process_id: int, number: int) -> None:
        nonlocal looks
        assert (process_id, number) == (123, 0)
        looks += 1
        raise PermissionError if looks < 4 else ProcessLookupError

    monkeypatch.setattr(companion, "_LOOK_INTERVAL_S", 0)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(os, "kill", kill)
    is_over = asyncio.Event()
    end_with_process(123, is_over.set)
    async with asyncio.timeout(PATIENCE_S):
        await is_over.wait()
    assert looks == 4


async def test_the_process_stops_in_order(
    owner: subprocess.Popen[bytes],
) -> None:
    is_over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, is_over.set)
    try:
        end_with_process(owner.pid)
        owner.kill()
        async with asyncio.timeout(PATIENCE_S):
            await is_over.wait()
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_broker_is_gone_when_who_it_ran_for_was_killed(
    owner: subprocess.Popen[bytes], tmp_path: Path, loop: str
) -> None:
    option = f"exit.with.process={owner.pid}"
    with running_broker(tmp_path / "data", "-o", option, loop=loop) as broker:
        assert broker.process is not None
        owner.kill()  # nobody has waited for it: a zombie has ended, too
        assert broker.process.wait(PATIENCE_S) == 0


def test_a_broker_for_nobody_does_not_start(
    owner: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    owner.kill()
    owner.wait()
    command = [sys.executable, "-m", "odradek", "serve", "--port", "0"]
    command += ["--data-dir", str(tmp_path), "-o", f"exit.with.process={owner.pid}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert run.returncode == 1
    assert run.stderr == (
        f"odradek serve: exit.with.process={owner.pid}: there is no such process\n"
    )
