import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.config.sources import load


def test_a_broker_starts_with_what_is_shown(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "init", "kafka.example.com"]) == 0
    shown = capsys.readouterr().out
    assert (
        "for kafka.example.com, localhost, 127.0.0.1, ::1, good for 825 days" in shown
    )
    begin = shown.index("# the broker")
    (here / "server.properties").write_text(
        shown[begin : shown.index("# kafka-python")]
    )
    config = load(here / "server.properties").config
    config.check()
    (listener,) = config.listeners
    assert (listener.host, listener.port) == ("0.0.0.0", 9093)
    assert "advertised.listeners=SSL://kafka.example.com:9093\n" in shown
    assert config.ssl_client_auth == "required"
    assert config.ssl_certificate_file == f"{here}/secure/server.pem"


def test_nothing_is_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cert", "init"]) == 0
    before = (here / "secure" / "server.pem").read_text()
    ca = (here / "secure" / "ca.pem").read_text()
    assert main(["cert", "init"]) == 1
    assert "server.pem is there, and stays as it is" in capsys.readouterr().err
    assert main(["cert", "init", "b.example", "--renew", "--json"]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["names"][0] == "b.example"
    assert not row["new_ca"]
    assert (here / "secure" / "server.pem").read_text() != before
    assert (here / "secure" / "ca.pem").read_text() == ca


def test_what_cannot_be_made_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "init", "--dir", "/dev/null/x"]) == 1
    assert "Not a directory" in capsys.readouterr().err
    assert main(["cert", "init", "a b"]) == 1
    assert "'a b' is not the name of a host" in capsys.readouterr().err
