import socket

import pytest

from odradek.pipeline.workers import daemon as worker_daemon


def test_a_worker_that_is_let_go_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    from pyspark import daemon

    said: list[int] = []

    def work(sock: socket.socket, authenticated: bool) -> int:
        if not authenticated:
            raise BrokenPipeError
        return 0

    def manager() -> None:
        with socket.socket() as sock:
            said.extend(daemon.worker(sock, each) for each in (True, False))

    monkeypatch.setattr(daemon, "worker", work)
    monkeypatch.setattr(daemon, "manager", manager)
    worker_daemon.main()
    assert said == [0, 1]
