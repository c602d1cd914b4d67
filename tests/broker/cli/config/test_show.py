import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.config.options.broker_config import OPTIONS

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "4")


def shown(capsys: Captured, *given: str) -> dict[str, tuple[str, str]]:
    assert main(["config", "show", *given, "--json"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return {each["name"]: (each["value"], each["source"]) for each in lines}


def test_who_says_so(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "num.partitions=2\nlog.retention.ms=5000\nlisteners=PLAINTEXT://127.0.0.1:7\n"
    )
    given = ("--config", str(file), "-o", "log.retention.ms=6000", "--port", "8")
    assert shown(capsys, *given, "--data-dir", "d") == {
        "listeners": ("PLAINTEXT://127.0.0.1:8", f"{file}:3 --port"),
        "log.dirs": ("d", "--data-dir"),
        "log.retention.ms": ("6000", "-o"),
        "num.partitions": ("4", "environment KAFKA_NUM_PARTITIONS"),
    }


def test_all_of_them_and_single_ones(capsys: Captured) -> None:
    assert set(shown(capsys, "--all")) == set(OPTIONS)
    assert shown(capsys, "log.dirs", "num.partitions") == {
        "log.dirs": ("data", "default"),
        "num.partitions": ("4", "environment KAFKA_NUM_PARTITIONS"),
    }
    assert main(["config", "show"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "OPTION          VALUE  FROM",
        "num.partitions      4  environment KAFKA_NUM_PARTITIONS",
    ]


def test_nobody_has_set_any(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_NUM_PARTITIONS")
    assert main(["config", "show"]) == 0
    assert capsys.readouterr().out == "no option is set; --all shows all\n"


def test_options_that_contradict_each_other(tmp_path: Path, capsys: Captured) -> None:
    """As those of Apache Kafka's own file, which let everybody in."""
    file = tmp_path / "server.properties"
    file.write_text("listeners=PLAINTEXT://:9092\nlog.retention.hours=1\n")
    given = ("--config", str(file))
    assert main(["config", "show", *given, "--json"]) == 2
    *rows, error = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(each["name"], each["value"]) for each in rows] == [
        ("listeners", "PLAINTEXT://:9092"),
        ("log.retention.hours", "1"),
        ("num.partitions", "4"),
    ]
    message = "serve would refuse this: listener PLAINTEXT://:9092 has no host"
    assert error["error"]["message"].startswith(message)
    assert error["error"]["code"] == "USAGE"
    assert main(["config", "show", "--config", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().out == ""


def test_what_serve_would_refuse(capsys: Captured) -> None:
    assert main(["config", "show", "-o", "num.partitions=many"]) == 2
    assert capsys.readouterr() == (
        "OPTION          VALUE  FROM\nnum.partitions  many   -o\n",
        "odradek config show: serve would refuse this: -o: Invalid value many for"
        " configuration num.partitions: Not a number of type INT\n",
    )
    with pytest.raises(SystemExit) as ended:
        main(["config", "show", "num.partition"])
    assert ended.value.code == 2
    assert "did you mean num.partitions?" in capsys.readouterr().err
