import json
import socket
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from tests.authority import Authority
from tests.broker_process import running_broker


def test_a_file_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cert", "init", "kafka.example.com"]) == 0
    capsys.readouterr()
    assert main(["cert", "show", "secure/server.pem"]) == 0
    shown = capsys.readouterr().out
    assert "subject  CN=kafka.example.com\n" in shown
    assert "names  127.0.0.1, ::1, kafka.example.com, localhost\n" in shown
    assert "(824 days left)" in shown
    assert "issuer CN=odradek CA (the next one)" in shown
    assert "issuer CN=odradek CA (itself: a CA, or nobody whom others know)" in shown


def test_what_is_wrong_in_a_chain_is_seen(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = Authority(here)
    late = authority.issue(
        "late", from_date="20200101000000Z", to_date="20200201000000Z"
    )
    late.write_text(late.read_text().replace(authority.certificate.read_text(), ""))
    assert main(["cert", "show", str(late)]) == 0
    shown = capsys.readouterr().out
    assert "good   2020-01-01 to 2020-02-01 (expired " in shown
    assert "(not shown here: who connects has to have it)" in shown
    other = Authority(here, "other").certificate
    late.write_text(late.read_text() + other.read_text())
    assert main(["cert", "show", str(late)]) == 0
    assert "(not the next one: the chain is broken)" in capsys.readouterr().out


def test_a_listener_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cert", "init"]) == 0
    pem = here / "secure" / "server.pem"
    tls = ("-o", "listeners=SSL://127.0.0.1:0", "-o", f"ssl.certificate.file={pem}")
    with running_broker(here / "data", *tls) as broker:
        capsys.readouterr()
        assert main(["cert", "show", broker.address, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["subject"] for row in rows] == ["CN=localhost", "CN=odradek CA"]
    assert rows[0]["names"] == ["127.0.0.1", "::1", "localhost"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no certificate in it"),
        (b"\xff\xfe", "it is no PEM"),
        (b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "is damaged"),
        (b"-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n", "damaged"),
    ],
)
def test_what_is_no_certificate_is_said(
    here: Path, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "x.pem").write_bytes(content)
    assert main(["cert", "show", "x.pem"]) == 1
    assert said in capsys.readouterr().err
    assert main(["cert", "show", "nowhere.pem"]) == 1
    assert "nowhere.pem: No such file" in capsys.readouterr().err


def test_who_speaks_no_tls_shows_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_broker(here / "data") as broker:
        assert main(["cert", "show", broker.address]) == 1
        assert "hung up in the handshake of TLS" in capsys.readouterr().err
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        assert main(["cert", "show", address]) == 1
        assert "Connection refused" in capsys.readouterr().err
