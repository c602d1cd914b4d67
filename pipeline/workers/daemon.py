"""Spark's daemon of Python workers, which is silent about those that Spark lets go.

Spark closes the connection of a worker that was idle for a minute, or whose task is not
wanted any more. By a Unix socket the worker notices that with its last words, and
Spark's own daemon prints the traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import daemon

if TYPE_CHECKING:
    from socket import socket


def main() -> None:
    """Start workers until Spark ends; the module to start is the first argument."""
    work = daemon.worker

    def worker(sock: socket, authenticated: bool) -> int:
        try:
            return work(sock, authenticated)
        except BrokenPipeError:
            return 1

    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
