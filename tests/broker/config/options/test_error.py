import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_who_may_meet_it_need_not_load_the_table_of_options() -> None:
    """`odradek health` runs every few seconds in many containers."""
    script = (
        "import sys, odradek.broker.cli.node.health;"
        " print('dataclasses' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
