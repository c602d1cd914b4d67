"""A broker that runs for another process, and ends when that does, however it does."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from .start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_INTERVAL_S = 0.2


def end_with_process(process_id: int, end: Callable[[], None] | None = None) -> None:
    """Call ``end``, by default stop this process in order, when that one has ended.

    Raises:
        StartError: there is no such process.
    """
    end = end or _stop
    loop = asyncio.get_running_loop()
    if not _lives(process_id):
        raise StartError(f"exit.with.process={process_id}: there is no such process")
    descriptor = _descriptor(process_id)
    if descriptor is None:
        loop.call_later(_LOOK_INTERVAL_S, _look, process_id, end)
        return

    def ended() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        end()

    loop.add_reader(descriptor, ended)


def _descriptor(process_id: int) -> int | None:
    """What can be read once that process has ended; None: it must be looked for.

    Only Linux has these, and not every container gives them.
    """
    try:
        return os.pidfd_open(process_id)
    except (AttributeError, OSError):
        return None


def _look(process_id: int, end: Callable[[], None]) -> None:
    if _lives(process_id):
        asyncio.get_running_loop().call_later(_LOOK_INTERVAL_S, _look, process_id, end)
    else:
        end()


def _lives(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _stop() -> None:
    signal.raise_signal(signal.SIGTERM)
