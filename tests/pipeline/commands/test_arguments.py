"""The pipeline's arguments: typos are answered with what was meant."""

import argparse

import pytest

from odradek.pipeline.commands.arguments import cluster_arguments, size, spark_options
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
        with pytest.raises(argparse.ArgumentTypeError, match="no size"):
            size(wrong)


def test_spark_options() -> None:
    assert spark_options(["a.b=c=d", "e="]) == {"a.b": "c=d", "e": ""}
    with pytest.raises(ValueError, match="write it like"):
        spark_options(["a.b"])
