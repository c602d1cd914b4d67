"""``odradek pipeline`` by itself: what there is, said without loading Spark."""

import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

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


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("pyspark", "pipeline"),
        ("pyarrow.parquet", "pipeline"),
        ("deltalake", "delta"),
        ("pyiceberg.catalog", "iceberg"),
        ("fastavro", "avro"),
        ("google.protobuf", "protobuf"),
    ],
)
def test_a_package_that_is_missing_is_told_with_what_to_type(
    module: str, extra: str, capsys: pytest.CaptureFixture[str]
) -> None:
    action = ModuleType("tests.lacking")

    def command(arguments: list[str]) -> int:
        raise ModuleNotFoundError(name=module)

    action.command = command  # type: ignore[attr-defined]
    sys.modules[action.__name__] = action
    try:
        actions = {"export": (action.__name__, "")}
        assert commands.run_pipeline_action("pipeline", actions, ["export"], []) == 1
    finally:
        del sys.modules[action.__name__]
    said = capsys.readouterr().err
    package = module.partition(".")[0]
    assert said.startswith(f"odradek pipeline: the package {package} is not installed:")
    assert f"[{extra}]" in said
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra in known["optional-dependencies"]


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
