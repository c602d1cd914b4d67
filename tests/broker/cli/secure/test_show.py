import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.snippets.snippets import CLIENTS


def test_one_can_be_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["secure", "init", "kafka.example.com"]) == 0
    capsys.readouterr()
    assert main(["secure", "show", "--client", "java"]) == 0
    shown = capsys.readouterr().out
    assert (
        "kafka-console-producer.sh --bootstrap-server kafka.example.com:9092" in shown
    )
    assert "aiokafka" not in shown
    assert main(["secure", "show", "--bootstrap-server", "b:1", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["client"] for row in rows] == list(CLIENTS)
    assert "kafka.example.com" not in rows[0]["text"]


def test_what_is_not_known_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["secure", "show"]) == 1
    assert "'odradek secure init --dir " in capsys.readouterr().err
    assert main(["secure", "init", "--port", "0"]) == 0
    assert "--bootstrap-server HOST:PORT" in capsys.readouterr().out
    assert main(["secure", "show"]) == 1
    assert "say --bootstrap-server" in capsys.readouterr().err
