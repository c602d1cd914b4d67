"""Spark's daemon of Python workers, which is silent about those that Spark lets go.

Spark closes the connection of a worker that was idle for a minute, or whose task is not
wanted any more: a stream that is stopped has some of these. The worker notices that
with its last words, and Spark's own daemon prints the tracebacks. Whatever else ends a
worker is printed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark import daemon

from odradek.pipeline.workers.lone import LET_GO

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket


def main() -> None:
    """Start workers until Spark ends; the module to start is the first argument."""
    work = daemon.worker

    def worker(sock: socket, authenticated: bool) -> int:
        try:
            return work(sock, authenticated)
        except LET_GO:
            return 1

    daemon.worker = worker
    # What it prints of a last flush that failed goes by this name.
    daemon.print = said_unless_let_go  # type: ignore[attr-defined]
    sys.unraisablehook = unless_let_go(sys.unraisablehook)
    daemon.manager()


def said_unless_let_go(*words: object, **how: object) -> None:
    """``print``, but for an error that says that nobody listens any more."""
    if not isinstance(sys.exception(), LET_GO):
        print(*words, **how)  # type: ignore[call-overload]


def unless_let_go(
    hook: Callable[[sys.UnraisableHookArgs], object],
) -> Callable[[sys.UnraisableHookArgs], object]:
    """The hook, but for files that are closed when nobody listens any more."""

    def told(found: sys.UnraisableHookArgs) -> None:
        if not isinstance(found.exc_value, LET_GO):
            hook(found)

    return told


if __name__ == "__main__":
    main()
