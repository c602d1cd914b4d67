import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.admin.admin_client import AdminRefusal
from odradek.broker.cli.node import health
from odradek.broker.cli.node.health import Target, command, wait_until_ready
from odradek.client.address import Address


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
    assert command(["--port", str(port), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "address": f"127.0.0.1:{port}",
        "ready": False,
        "reason": "Connection refused",
        "error": {
            "code": "NOT_READY",
            "message": f"127.0.0.1:{port} is not ready: Connection refused",
            "what": None,
        },
    }


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


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    """The brokers that were asked; all of them are ready."""
    for variable in os.environ:
        if variable.startswith("KAFKA_"):
            monkeypatch.delenv(variable)
    found: list[Target] = []

    def probe(target: Target, timeout_s: float) -> None:
        found.append(target)

    monkeypatch.setattr(health, "probe", probe)
    return found


def test_without_options_the_usual_port_is_asked(targets: list[Target]) -> None:
    assert command([]) == 0
    assert targets == [Target("127.0.0.1", 9092)]


def test_it_asks_where_the_environment_says(
    targets: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LISTENERS", "CONTROLLER://:9093,A://:19092,B://:9092")
    monkeypatch.setenv(
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "A:PLAINTEXT,B:PLAINTEXT"
    )
    monkeypatch.setenv("KAFKA_ALLOW_UNAUTHENTICATED", "true")
    monkeypatch.setenv("KAFKA_LOG_DIRS", "/somewhere")
    assert command([]) == 0
    assert targets == [Target("127.0.0.1", 19092, Path("/somewhere"))]
    monkeypatch.delenv("KAFKA_LOG_DIRS")
    assert command(["--port", "7"]) == 0
    assert targets[1] == Target("127.0.0.1", 7)  # no data directory that it names


def test_it_asks_where_the_properties_file_says(
    targets: list[Target], tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=PLAINTEXT://127.0.0.2:9095\nlog.dirs=/a,/b\n")
    assert command(["--config", str(file)]) == 0
    assert targets == [Target("127.0.0.2", 9095, Path("/a"))]


def test_a_wrong_option_is_code_2(
    targets: list[Target], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dir.s=/a\n")
    assert command(["--config", str(file)]) == 2
    assert "log.dirs" in capsys.readouterr().err


def test_an_address_is_asked_where_it_is_named(
    targets: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "kafka-1:9093,kafka-2")
    assert command([]) == 0
    assert command(["--bootstrap-server", "kafka-3:7"]) == 0
    assert targets == [Target("kafka-1", 9093), Target("kafka-3", 7)]


def test_a_wrong_address_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "kafka:x")
    assert command([]) == 2
    assert "ODRADEK_BOOTSTRAP_SERVER: 'kafka:x' is" in capsys.readouterr().err


def test_two_ways_to_name_it_are_one_too_many(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["--bootstrap-server", "a:1", "--port", "2"])
    assert ended.value.code == 2


def test_a_data_directory_says_which_port_it_is(
    targets: list[Target],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Path] = []

    def addresses(data_directory: Path, timeout_s: float) -> list[Address]:
        asked.append(data_directory)
        if len(asked) == 1:
            raise AdminRefusal("no broker is running")
        return [Address("127.0.0.2", 41234), Address("127.0.0.2", 41235)]

    monkeypatch.setattr(
        "odradek.broker.cli.admin.admin_client.broker_addresses", addresses
    )
    assert command(["--data-dir", str(tmp_path), "--json"]) == 1
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found.pop("error")["code"] == "NOT_READY"
    assert found == {
        "address": None,
        "ready": False,
        "reason": "no broker is running",
    }
    assert f"the broker of {tmp_path} is not ready: no broker is" in captured.err
    assert command(["--data-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "127.0.0.2:41234 is ready\n"
    assert targets == [Target("127.0.0.2", 41234, tmp_path)]
    assert command(["--data-dir", str(tmp_path), "--port", "7"]) == 0
    assert targets[1] == Target("127.0.0.1", 7, tmp_path)


def test_what_the_broker_says_of_itself_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reasons: list[str] = []

    def ask_admin(*_: object) -> Iterator[dict[str, str]]:
        return iter([{"reason": reason} for reason in reasons])

    monkeypatch.setattr(health, "ask", lambda *_: None)
    monkeypatch.setattr("odradek.broker.cli.admin.admin_client.ask", ask_admin)
    target = Target("127.0.0.1", 1, tmp_path)
    assert health.probe(target, 1) is None
    reasons += ["the disk is full", "and broken"]
    assert health.probe(target, 1) == "the disk is full; and broken"
    assert health.probe(target._replace(data_directory=None), 1) is None


def test_a_data_directory_without_broker_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(health, "ask", lambda *_: None)
    reason = health.probe(Target("127.0.0.1", 1, tmp_path), 1)
    assert reason is not None
    assert "no broker is running on" in reason
