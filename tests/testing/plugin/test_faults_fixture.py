"""The fixture ``odradek_faults``, in a run of pytest of its own."""

import subprocess
import sys
from pathlib import Path

from tests.testing.inner import WITHOUT_HYPOTHESIS

TESTS = """
import pytest
from odradek.testing import SharedBroker

def test_one(odradek, odradek_topic, odradek_faults):
    odradek_faults.drop("Produce")
    odradek_faults.hold("Fetch", topic=odradek_topic)
    topics = [each["match"]["topic"] for each in odradek.ask("faults.list")]
    assert topics == ["test_one-main-*", odradek_topic]
    with pytest.raises(SharedBroker):
        odradek_faults.drop("ApiVersions")

def test_two(odradek):
    assert odradek.ask("faults.list") == []
"""


def test_rules_are_of_one_test_and_gone_behind_it(tmp_path: Path) -> None:
    (tmp_path / "test_faults.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", *WITHOUT_HYPOTHESIS]
    done = subprocess.run(
        [*command, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout
