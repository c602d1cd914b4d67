"""The brokers of tests, when the tests end in whatever way."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess, ended, running_broker
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
RUN = """
import sys
from pathlib import Path
from tests.broker_process import BrokerProcess

broker = BrokerProcess(Path(sys.argv[1]))
broker.is_forked &= sys.argv[2] == "forked"
broker.start()
print(broker.pid, flush=True)
input()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd")
@pytest.mark.parametrize("how", ["forked", "started"])
def test_a_broker_ends_with_the_tests(tmp_path: Path, how: str) -> None:
    """A run that is killed stops nothing by itself."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path / "data"), how],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        broker = os.pidfd_open(int(run.stdout.readline()))
        run.kill()
    try:
        assert select.select([broker], [], [], PATIENCE_S)[0], "it still runs"
    finally:
        os.close(broker)


@pytest.mark.parametrize("may_be_forked", [True, False])
def test_of_a_broker_it_is_known_how_it_ended(
    tmp_path: Path, may_be_forked: bool
) -> None:
    data_dir = tmp_path / "data"
    with running_broker(data_dir, may_be_forked=may_be_forked) as broker:
        process = broker.process
        assert process is not None
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        broker.kill()
        assert process.returncode == -signal.SIGKILL
        broker.start()
        broker.terminate()  # which is glad of no other code than 0
        other = BrokerProcess(data_dir, ["-o", "no.such.option=1"])
        other.is_forked &= may_be_forked
        other.launch()
        assert other.process is not None
        with ended(other.process):
            assert other.process.wait(PATIENCE_S) == 2
        assert "no.such.option" in other.log()


def test_a_forked_broker_has_its_own_environment_and_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODRADEK_SECURE", "neither")
    broker = BrokerProcess(Path("data"))
    with pytest.raises(AssertionError, match=r"ODRADEK_SECURE: .*neither"):
        broker.start()
    monkeypatch.setenv("ODRADEK_SECURE", "false")
    with running_broker(Path("data")) as broker:
        assert (tmp_path / "data" / "meta.properties").exists()
        broker.terminate()
