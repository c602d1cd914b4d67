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


def test_what_serve_would_refuse(capsys: Captured) -> None:
    assert main(["config", "show", "-o", "num.partitions=many"]) == 2
    assert capsys.readouterr().err.startswith(
        "odradek config show: -o: Invalid value many"
    )
    with pytest.raises(SystemExit) as ended:
        main(["config", "show", "num.partition"])
    assert ended.value.code == 2
    assert "did you mean num.partitions?" in capsys.readouterr().err
