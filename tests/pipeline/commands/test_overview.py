"""``odradek pipeline`` by itself: what there is, said without loading Spark."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.pipeline import commands

ROOT = Path(__file__).parents[3]


def test_help_names_every_action(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.command(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in commands.ACTIONS)


def test_unknown_action_is_answered_with_a_guess(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert commands.command(["exprot"]) == 2
    assert "did you mean export?" in capsys.readouterr().err


def test_without_an_action_the_exit_code_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert commands.command([]) == 2
    assert "usage" in capsys.readouterr().out


@pytest.mark.parametrize("action", sorted(commands.ACTIONS))
def test_help_needs_neither_spark_nor_arrow(action: str) -> None:
    code = (
        "import sys\nfrom odradek.broker.cli.main import main\n"
        f"try: main(['pipeline', '{action}', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'deltalake'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
