"""The process in which a round runs: ``python -m storage.cleaner.worker``.

Python runs one thread at a time, and a round would keep the event loop from its work
for milliseconds at every turn; so it has an interpreter of its own.

It reads a `CleaningPlan` from its input and writes, one after the other, each
`CleanedSegment`, and waits for a byte before it goes on; at the end a `RoundEnd`.
Messages are pickles behind their length, four bytes. It ends with its parent.
"""

import ctypes
import os
import signal
import sys
import traceback
from math import inf
from typing import BinaryIO

from odradek.protocol.errors import KafkaError
from odradek.storage.files.files import DiskFull, OsFiles
from odradek.storage.indexes.mapped_index import CorruptIndex

from .framing import receive, send
from .plan import CleaningPlan, CleaningStats, DamageFound, RoundEnd
from .round import CleaningRound
from .throttle import Throttle, ThrottledFiles

_SET_PARENT_DEATH_SIGNAL = 1


def run(plan: CleaningPlan, source: BinaryIO, target: BinaryIO) -> None:
    """Run a round; what comes of it goes to ``target``."""
    next_dirty_offset, stats = -1, CleaningStats()
    error: Exception | None = None
    try:
        cleaning = CleaningRound(_files(plan), plan)
        next_dirty_offset, stats = cleaning.next_dirty_offset, cleaning.stats
        while (cleaned := cleaning.clean_next()) is not None:
            send(target, cleaned)
            if not source.read(1):
                return  # nobody waits for the rest
    except (DamageFound, DiskFull, CorruptIndex, KafkaError) as expected:
        error = expected
    except Exception as unexpected:  # told as text: it may hold anything
        if not isinstance(unexpected, OSError):  # a topic may be deleted meanwhile
            traceback.print_exc()
        error = RuntimeError(f"{type(unexpected).__name__}: {unexpected}")
    send(target, RoundEnd(error, next_dirty_offset, stats))


def _files(plan: CleaningPlan) -> OsFiles:
    if plan.bytes_per_second == inf:
        return OsFiles()
    return ThrottledFiles(Throttle(plan.bytes_per_second))


def main() -> None:
    """What the process does."""
    _end_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to end
    source, target = sys.stdin.buffer, sys.stdout.buffer
    try:
        run(receive(source), source, target)
    except (EOFError, BrokenPipeError):  # nobody wants anything, or no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())


def _end_with_parent(parent: int) -> None:
    """A round that nobody waits for must not write beside that of the next broker."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    main()
