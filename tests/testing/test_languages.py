"""What tests ask by HTTP, asked from other languages: the examples, as they are."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing import Broker, BrokerError
from tests.patience import PATIENCE_S
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "testing"
SCENARIO = (EXAMPLES / "scenario.txt").read_text()
# Each prints, for each line of the scenario, the status and the lines of the answer.
SENDERS = {
    "curl": ["sh", str(EXAMPLES / "curl" / "scenario.sh")],
    "go": ["go", "run", "-C", str(EXAMPLES / "go"), "./scenario"],
    "node": ["node", str(EXAMPLES / "node" / "scenario.mjs")],
}
TESTS = {
    "go": ["go", "test", "-count=1", "-vet=off", "./..."],
    "node": ["node", "--test"],
    "java": ["mvn", "-q", "-B", "-Dstyle.color=never", "test"],
}
PROGRAMS = {"java": ("java", "javac", "mvn")}


def need(language: str) -> None:
    for program in PROGRAMS.get(language, (language,)):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With the command odradek, this one, on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "odradek"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m odradek "$@"\n')
    command.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    ours = {"PATH": path, "PYTHONPATH": str(ROOT), "GOTOOLCHAIN": "local"}
    return {**os.environ, **ours}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker({"http.listener": "127.0.0.1:0"}) as broker:
        yield broker


def run(command: list[str], environment: dict[str, str], **options: str | Path) -> str:
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("language", SENDERS)
def test_a_scenario_has_the_same_answers(
    language: str, broker: Broker, environment: dict[str, str], tmp_path: Path
) -> None:
    """T353: each is told what is beside the scenario, word for word."""
    need(language)
    command = [*SENDERS[language], broker.url]
    told = run(command, environment, input=SCENARIO, cwd=tmp_path)
    assert told == (EXAMPLES / "answers.txt").read_text()


@pytest.mark.parametrize("language", sampled(TESTS, "go", "node"))
def test_the_examples_pass_their_tests(
    language: str, environment: dict[str, str], tmp_path: Path
) -> None:
    need(language)
    folder = tmp_path / language
    leave = shutil.ignore_patterns("target")
    shutil.copytree(EXAMPLES / language, folder, ignore=leave)
    run(TESTS[language], environment, cwd=folder)


def test_who_has_no_http_listener_is_told_how_to_have_one() -> None:
    with Broker() as broker, pytest.raises(BrokerError, match=r"http\.listener"):
        assert broker.url
