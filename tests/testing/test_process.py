"""The process of a broker: what it is told, what it leaves, how it ends."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.testing import BrokerError
from odradek.testing.options import broker_options
from odradek.testing.process import BrokerProcess, end_process, environment
from tests.broker_process import ended


def process_in(folder: Path, **options: str) -> BrokerProcess:
    return BrokerProcess(broker_options(options, folder / "data"), folder / "log")


def test_what_does_not_start_says_why(tmp_path: Path) -> None:
    process = process_in(tmp_path, **{"num.partitions": "many"})
    with pytest.raises(BrokerError, match=r"did not start:\n[^$]*num.partitions"):
        process.start(0)
    assert process.pid is None


def test_a_port_that_a_listener_is_given_is_not_another(tmp_path: Path) -> None:
    """None is chosen at the first start; the next one has that of the first."""
    listeners = "CONTROLLER://h:0,A://127.0.0.1:9,B://[::1]:0,C://:0"
    process = process_in(tmp_path, listeners=listeners)
    assert "--port" not in process._command(0)
    assert "--port" in process._command(9)
    assert "--port" in process_in(tmp_path)._command(0)
    assert process.has_chosen_ports
    process.keep_ports({"A": 9, "B": 5, "C": 6})
    kept = "CONTROLLER://h:0,A://127.0.0.1:9,B://[::1]:5,C://:6"
    assert f"listeners={kept}" in process._command(9)


def test_nothing_of_the_environment_configures_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PYTHONPATH", "ODRADEK_LOOP", "KAFKA_LOG_DIRS", "HOME"):
        monkeypatch.setenv(name, "x")
    found = environment()
    assert "HOME" in found
    assert not {"PYTHONPATH", "ODRADEK_LOOP", "KAFKA_LOG_DIRS"} & set(found)


def test_one_that_is_released_runs_on_until_somebody_ends_it(tmp_path: Path) -> None:
    process = process_in(tmp_path)
    address = process.start(0)
    assert address.port
    process_id = process.release()
    assert process.pid is None
    process.stop()  # it is not ours any more
    os.kill(process_id, 0)
    # A signal of the terminal goes to a session, and the broker has its own.
    assert os.getsid(process_id) != os.getsid(0)
    end_process(process_id)
    with suppress(ChildProcessError):  # it was forked by another one
        os.waitpid(process_id, 0)


def test_a_process_that_is_gone_is_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    with ended(process):
        process.wait()
    end_process(process.pid)
