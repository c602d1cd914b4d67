"""The broker as a process: its event loop, its signals, its limits, its memory.

The first SIGTERM or SIGINT stops the broker in order; a second one ends it at once.
SIGHUP has it read its certificates again; one without any, or whose terminal has been
closed, stops in order.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, Protocol

from .start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable

    LoopFactory = Callable[[], asyncio.AbstractEventLoop]


LOOP_VARIABLE = "ODRADEK_LOOP"
UVLOOP, ASYNCIO = "uvloop", "asyncio"

_OPEN_FILES_MAX = 1 << 20
# What lives at start lives for ever, and most requests make no cycles: look for
# garbage more rarely than Python does by default (700, 10, 10).
_GC_THRESHOLDS = (10_000, 20, 50)
# A thread whose sync has ended waits as long as this for a busy loop to let it run,
# and all answers wait with it. Python's default is 5 ms, thirty syncs long; with
# this, 16 connections x 8 in flight had 28,400 synced requests/s in place of 18,900.
_SWITCH_INTERVAL_SECONDS = 0.000_5


class Runnable(Protocol):
    """What is started, announced, and stopped.

    ``exit_code`` is what the process ends with, once it has stopped.
    """

    exit_code: int

    async def start(self) -> None:
        """Return when it is ready."""

    def ready_line(self) -> str:
        """What is announced then."""

    def hang_up(self) -> bool:
        """Read again what can be, at SIGHUP. Returns whether there is anything."""

    async def stop(self) -> None:
        """Stop in order."""


def run_until_signal(
    server: Runnable,
    *,
    loop: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> int:
    """Start, announce, wait for a signal, stop. Returns the exit code.

    Raises:
        StartError: there is no such event loop. What ``start`` raises is passed on.
    """
    # Nothing that is made until then is garbage.
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
            return runner.run(_serve(server, announce or _print))
    finally:
        gc.enable()


def loop_factory(name: str | None = None) -> LoopFactory:
    """The event loop of that name; None: the environment's choice, or the best one.

    Raises:
        StartError: there is no such loop, or uvloop is not installed.
    """
    wanted = name or os.environ.get(LOOP_VARIABLE) or None
    if wanted not in (None, UVLOOP, ASYNCIO):
        raise StartError(f"{LOOP_VARIABLE}={wanted}: it can be {UVLOOP} or {ASYNCIO}")
    if wanted != ASYNCIO:
        try:
            import uvloop
        except ImportError as error:
            if wanted == UVLOOP:
                raise StartError("uvloop is not installed") from error
        else:
            return uvloop.new_event_loop
    return asyncio.new_event_loop


def open_files_limit() -> int:
    """How many files may be open, after raising that as far as we may."""
    try:
        import resource
    except ImportError:  # not on this system
        return 2048
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > _OPEN_FILES_MAX:
        hard = _OPEN_FILES_MAX
    if soft == resource.RLIM_INFINITY or soft >= hard:
        return hard
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE,
            (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        )
    except (ValueError, OSError):  # macOS allows less than it says
        return soft
    return hard


def leave_no_core() -> None:
    """See that no dump of this process is written when it crashes: keys are in it.

    Programs to which the system pipes dumps (systemd-coredump) get one all the same.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


async def _serve(server: Runnable, announce: Callable[[str], None]) -> int:
    stopping = asyncio.Event()

    def on_signal(number: int) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        stopping.set()

    had_terminal = _has_terminal()

    def on_hangup() -> None:
        has_gone = had_terminal and not _has_terminal()
        if has_gone or not server.hang_up():
            stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    await server.start()
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # not with nohup
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    announce(server.ready_line())
    await stopping.wait()
    await server.stop()
    return server.exit_code


def _has_terminal() -> bool:
    """Whether this process was started in a terminal that is still there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _print(line: str) -> None:
    print(line, flush=True)
