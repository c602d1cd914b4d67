"""The brokers of tests, when the tests end in whatever way."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
RUN = """
import sys
from pathlib import Path
from tests.broker_process import BrokerProcess

broker = BrokerProcess(Path(sys.argv[1]))
broker.start()
print(broker.pid, flush=True)
input()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd")
def test_a_broker_ends_with_the_tests(tmp_path: Path) -> None:
    """A run that is killed stops nothing by itself."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path / "data")],
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
