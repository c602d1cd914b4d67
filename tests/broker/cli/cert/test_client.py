import json
from pathlib import Path

import pytest

from odradek.broker.cli.main import main


def test_a_client_gets_its_files(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cert", "client", "alice"]) == 1
    assert "'odradek cert init --dir " in capsys.readouterr().err
    assert main(["cert", "init"]) == 0
    capsys.readouterr()
    assert main(["cert", "client", "alice", "--bootstrap-server", "b:1"]) == 0
    shown = capsys.readouterr().out
    assert "the broker knows this client as User:CN=alice" in shown
    assert "bootstrap_servers='b:1'" in shown
    password = (here / "secure" / "alice.p12.password").read_text().strip()
    assert password not in shown
    assert main(["cert", "client", "alice"]) == 1
    assert "alice.pem is there" in capsys.readouterr().err
    assert main(["cert", "client", "../x"]) == 1
    assert "cannot be the name of its files" in capsys.readouterr().err


def test_what_is_shown_has_the_broker_of_the_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["secure", "init", "kafka.example.com", "--port", "19092"]) == 0
    capsys.readouterr()
    assert main(["cert", "client", "alice"]) == 0
    shown = capsys.readouterr().out
    assert "bootstrap_servers='kafka.example.com:19093'" in shown
    assert "listeners=SASL_SSL://0.0.0.0:19092,SSL://0.0.0.0:19093\n" in shown
    assert ":9093" not in shown
    (here / "secure" / "server.properties").write_text("listeners=SSL//x")
    assert main(["cert", "client", "bob"]) == 1
    assert "server.properties: 'SSL//x' is not like" in capsys.readouterr().err
    assert not (here / "secure" / "bob.pem").exists()


def test_the_store_may_have_a_password_of_ones_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    assert main(["cert", "init"]) == 0
    (here / "pw").write_text("open sesame\n")
    capsys.readouterr()
    given = ["alice", "--password-file", "pw", "--json"]
    assert main(["cert", "client", *given]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["principal"] == "User:CN=alice"
    load_pkcs12(Path(row["pkcs12"]).read_bytes(), b"open sesame")
    assert main(["cert", "client", "bob", "--password-file", "nowhere"]) == 2
    assert "nowhere: No such file" in capsys.readouterr().err
