"""Output to a reader that may go away, like ``head``."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """Let what is printed inside end without a word when nobody reads it any more.

    The error goes on to `main`, which knows the exit code. Characters that the
    output cannot show are escaped.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        raise


def drop_output() -> None:
    """What is still in the buffer has no reader either."""
    with suppress(OSError):  # where the output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def mend_streams(*, is_quiet: bool) -> None:
    """Let closed standard streams fail when they are used, not before.

    When it is quiet, what is written goes nowhere. A socket never gets their numbers.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        flags = os.O_WRONLY if is_quiet else os.O_RDONLY
        sys.stdout = os.fdopen(os.open(os.devnull, flags), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
