"""The pipeline's arguments: typos are answered with what was meant."""

import argparse
import re
from pathlib import Path

import pytest

from odradek.client.errors import Unreachable
from odradek.pipeline.commands.arguments import (
    check_no_secret,
    cluster_arguments,
    find_cluster,
    size,
    spark_arguments,
    spark_conf,
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


def given_conf(*arguments: str) -> argparse.Namespace:
    parser = Parser("test", "")
    spark_arguments(parser)
    return parser.parse(list(arguments))


def test_a_file_of_options_for_spark(tmp_path: Path) -> None:
    file = tmp_path / "spark.properties"
    file.write_text("# ours\nspark.master  yarn\nspark.a=1 \nspark.b: x y\n")
    options = given_conf("--properties-file", str(file), "--conf", "spark.a=2")
    assert spark_conf(options) == {"spark.a": "2", "spark.b": "x y"}
    assert options.master == "yarn"
    options = given_conf("--properties-file", str(file), "--master", "local[1]")
    assert spark_conf(options)["spark.a"] == "1"
    assert options.master == "local[1]"
    assert spark_conf(given_conf("--conf", "a=b")) == {"a": "b"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ": No such file or directory"),
        (b"\xff", ": it is not text in UTF-8"),
        (b"\nmaster yarn", ": line 2: master is no option of Spark"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "spark.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"{file}{said}")):
        spark_conf(given_conf("--properties-file", str(file)))


def test_spark_options() -> None:
    assert spark_options(["a.b=c=d", "e="]) == {"a.b": "c=d", "e": ""}
    with pytest.raises(ValueError, match="write it like"):
        spark_options(["a.b"])


def found(*words: str) -> argparse.Namespace:
    of = parser()
    options = of.parse(["--topic", "a", *words])
    find_cluster(of, options)
    return options


def test_the_brokers_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert found().bootstrap_server == "127.0.0.1:9092"
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "kafka-1:9")
    assert found().bootstrap_server == "kafka-1:9"
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVER")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ODRADEK_PROFILE", "prod")
    with pytest.raises(SystemExit) as ended:
        found()
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
    assert told(NotADirectoryError(20, "Not a directory", "/a/b"), "") == (
        "/a/b: Not a directory"
    )


def test_a_file_of_client_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "bootstrap.servers=kafka-2:9\nsecurity.protocol=SASL_PLAINTEXT\n"
        "sasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=open sesame\n"
    )
    monkeypatch.chdir(tmp_path)
    given = found("--command-config", path.name)
    assert (given.bootstrap_server, given.command_config) == ("kafka-2:9", str(path))
    given = found("--command-config", path.name, "--bootstrap-server", "a:1")
    assert (given.bootstrap_server, given.command_config) == ("a:1", str(path))
    monkeypatch.setenv("ODRADEK_CLIENT_CONFIG", str(path))
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "kafka-1:9")
    given = found()
    assert (given.bootstrap_server, given.command_config) == ("kafka-1:9", str(path))
    path.write_text(path.read_text().replace("PLAIN\n", "PLANE\n"))
    with pytest.raises(SystemExit):
        found()
    said = capsys.readouterr().err
    assert "did you mean PLAIN?" in said
    assert "open sesame" not in said


def test_no_secret_stands_on_a_command_line() -> None:
    check_no_secret({"onCorrupt": "skip", "kafka.sasl.password": "${env:PW}"})
    with pytest.raises(ValueError, match=r"everybody on this machine") as caught:
        check_no_secret({"kafka.sasl.password": "open sesame"})
    assert "open sesame" not in str(caught.value)
