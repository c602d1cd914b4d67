import socket
import threading
from collections.abc import Iterator

import pytest

from broker.cli.health import command, wait_until_ready


class Time:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def waited(answers: Iterator[str | None], wait_s: float) -> tuple[str | None, float]:
    time = Time()
    reason = wait_until_ready(
        lambda timeout_s: next(answers), wait_s, time.monotonic, time.sleep
    )
    return reason, time.now_s - 100


def test_ready_at_once() -> None:
    assert waited(iter([None]), 0) == (None, 0)


def test_not_ready_and_not_waiting() -> None:
    assert waited(iter(["refused"]), 0) == ("refused", 0)


def test_waits_until_it_is_ready() -> None:
    reason, elapsed_s = waited(iter(["refused", "refused", None]), 30)
    assert reason is None
    assert 0 < elapsed_s < 1


def test_gives_up_when_the_time_is_over() -> None:
    reason, elapsed_s = waited(iter(["refused"] * 1000), 2)
    assert reason == "refused"
    assert 2 <= elapsed_s < 2.1


def test_nobody_there_is_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert command(["--port", str(port)]) == 1
    assert capsys.readouterr().err == (
        f"odradek health: 127.0.0.1:{port} is not ready: Connection refused\n"
    )


def test_somebody_else_there_is_not_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(1024)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        assert command(["--port", str(server.getsockname()[1])]) == 1
        thread.join()
    assert "the broker closed the connection" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--wait", "soon"], ["--port", "x"], ["--hots", "a"], ["now"]]
)
def test_bad_usage_is_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 2
