"""The pipeline's arguments: typos are answered with what was meant."""

import argparse
from pathlib import Path

import pytest

from odradek.client.errors import Unreachable
from odradek.pipeline.commands.arguments import (
    cluster_arguments,
    size,
    spark_options,
    told,
)
from odradek.terminal.parser import Parser


def parser() -> Parser:
    made = Parser("pipeline thing", "A thing.")
    cluster_arguments(made)
    made.add_argument("--topic", required=True)
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--topic", "a", "--mster", "x"], "did you mean --master?"),
        (["--topik", "a"], "did you mean --topic?"),
        ([], "arguments are required: --topic"),
        (["--topic", "a", "b"], "unknown argument b"),
    ],
)
def test_mistake_is_one_line(
    given: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse(given)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


def test_sizes() -> None:
    assert size("128m") == 128 << 20
    assert size("1GiB") == 1 << 30
    assert size("10") == 10
    for wrong in ("0", "m", "1t", "-1"):
        with pytest.raises(argparse.ArgumentTypeError, match="not a size"):
            size(wrong)


def test_spark_options() -> None:
    assert spark_options(["a.b=c=d", "e="]) == {"a.b": "c=d", "e": ""}
    with pytest.raises(ValueError, match="write it like"):
        spark_options(["a.b"])


def test_the_brokers_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert parser().parse(["--topic", "a"]).bootstrap_server == "127.0.0.1:9092"
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "kafka-1:9")
    assert parser().parse(["--topic", "a"]).bootstrap_server == "kafka-1:9"
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVER")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ODRADEK_PROFILE", "prod")
    with pytest.raises(SystemExit) as ended:
        parser()
    assert ended.value.code == 2
    assert "no profile is called 'prod'" in capsys.readouterr().err


def test_brokers_that_are_away_are_told_with_what_helps() -> None:
    away = Unreachable("a:1: Connection refused")
    helps = "odradek pipeline doctor --bootstrap-server a:1"
    expected = f"a:1: Connection refused; '{helps}' finds out what is wrong"
    assert told(away, "a:1") == expected
    assert told(away, "") == "a:1: Connection refused"
    assert told(OSError(28, "No space left on device"), "a:1") == (
        "No space left on device"
    )
