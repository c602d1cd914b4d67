import json
import sys
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.config.sources import load


def run(*arguments: str, code: int = 0) -> None:
    assert main(["secure", "init", *arguments]) == code


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_only_this_machine_reaches_it_unless_a_host_is_named(here: Path) -> None:
    run()
    config = load(here / "secure" / "server.properties").config
    (listener,) = config.client_listeners
    assert (str(listener), listener.security_protocol) == (
        "SASL_SSL://127.0.0.1:9092",
        "SASL_SSL",
    )
    assert config.log_dirs == (here / "data",)
    assert config.super_users == {"User:admin"}
    run("kafka.example.com", "192.0.2.1", "--dir", "other", "--port", "9393")
    config = load(here / "other" / "server.properties").config
    assert str(config.client_listeners[0]) == "SASL_SSL://0.0.0.0:9393"
    assert [str(each) for each in config.advertised_listeners] == [
        "SASL_SSL://kafka.example.com:9393"
    ]


def test_no_secret_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    said = capsys.readouterr()
    assert (here / "secure" / "admin.password").read_text().strip() not in said.out
    assert "PRIVATE KEY" not in said.out
    assert f"start: odradek serve --config {here}/secure/server.properties" in said.out
    assert not said.err


def test_what_is_there_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    before = contents(here / "secure")
    run(code=1)
    assert "server.properties is there, and stays as it is" in capsys.readouterr().err
    assert contents(here / "secure") == before


def test_a_run_that_was_interrupted_goes_on(here: Path) -> None:
    run()
    before = contents(here / "secure")
    (here / "secure" / "server.properties").unlink()
    run()
    assert contents(here / "secure") == before


def test_a_password_of_ones_own(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pw").write_text("open sesame\n")
    run("--password-file", "pw", "--user", "root", "--json")
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["user"] == "root"
    assert Path(row["password_file"]).read_text() == "open sesame\n"
    (here / "secure" / "server.properties").unlink()
    (here / "pw").write_text("another\n")
    run("--password-file", "pw", "--user", "root", code=1)
    assert "is there, with another password" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["a b"], 1, "'a b' is not the name of a host"),
        (["--password-file", "nowhere"], 2, "nowhere: No such file"),
        (["--data-dir", "/dev/null/x"], 1, "/dev/null is not a directory"),
        (["--dir", "/sys/x"], 1, "; choose another --dir\n"),
    ],
)
def test_what_cannot_be_made_is_said(
    here: Path,
    arguments: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(*arguments, code=code)
    assert said in capsys.readouterr().err
    assert not (here / "secure" / "server.properties").exists()


def test_who_cannot_be_a_user(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for user in ("a;b", ""):
        with pytest.raises(SystemExit):
            run("--user", user)
        assert "is not the name of a user" in capsys.readouterr().err


def test_without_the_package_nothing_is_begun(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    run(code=1)
    assert "install" in capsys.readouterr().err
    assert not list(here.iterdir())
