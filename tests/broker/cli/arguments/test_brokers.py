import io
import json
from pathlib import Path

import pytest

from odradek.broker.cli.arguments.brokers import ClusterParser
from odradek.broker.cli.main import main
from odradek.client.address import Address
from odradek.client.profiles import Profile, Profiles, write_profiles
from odradek.terminal.screen import screen_of
from tests.broker_process import BrokerProcess

Captured = pytest.CaptureFixture[str]


def parsed(*arguments: str) -> list[Address]:
    found: list[Address] = (
        ClusterParser("topic list", "Lists.").parse(arguments).bootstrap_server
    )
    return found


def test_an_argument_is_stronger_than_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parsed() == [("127.0.0.1", 9092)]
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "a:1,b:2")
    assert parsed() == [("a", 1), ("b", 2)]
    assert parsed("--bootstrap-server", "c") == [("c", 9092)]


def test_what_is_wrong_in_the_environment_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "a:x")
    with pytest.raises(SystemExit) as ended:
        parsed()
    assert ended.value.code == 2
    assert "topic list: ODRADEK_BOOTSTRAP_SERVER: 'a:x' is" in capsys.readouterr().err
    assert parsed("--bootstrap-server", "c") == [("c", 9092)]


def test_a_data_directory_without_broker(tmp_path: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed("--data-dir", str(tmp_path))
    assert ended.value.code == 1
    assert "no broker is running on" in capsys.readouterr().err


def test_one_way_to_name_it_is_enough(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed("--data-dir", "d", "--bootstrap-server", "a")
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_broker_is_found_by_its_data_directory(
    group_broker: BrokerProcess, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port is one that the system gave."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "127.0.0.1:1")
    where = ("--data-dir", str(group_broker.data_dir))
    assert main(["doctor", *where]) == 0
    assert group_broker.address in capsys.readouterr().out
    assert main(["health", *where, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"address": group_broker.address, "ready": True, "reason": None}


def test_a_profile_has_brokers_and_colors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    prod, dev = Profile("p:1", color="always"), Profile("d:1,d:2")
    path = tmp_path / "odradek/profiles.toml"
    write_profiles(path, Profiles({"prod": prod, "dev": dev}, "prod"))
    assert parsed() == [("p", 1)]
    assert screen_of(io.StringIO()).has_colors
    assert parsed("--color", "never") == [("p", 1)]
    assert not screen_of(io.StringIO()).has_colors
    assert parsed("--profile", "dev") == [("d", 1), ("d", 2)]
    assert not screen_of(io.StringIO()).has_colors
    assert parsed("--profile", "prod", "--bootstrap-server", "x:1") == [("x", 1)]
    assert screen_of(io.StringIO()).has_colors
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "e:1")
    assert parsed() == [("e", 1)]
    assert parsed("--profile", "dev") == [("d", 1), ("d", 2)]
    with pytest.raises(SystemExit) as ended:
        parsed("--profile", "prd")
    assert ended.value.code == 2
    assert "no profile is called 'prd'; did you mean prod?" in capsys.readouterr().err
    path.write_text("x = 1")
    assert parsed("--bootstrap-server", "x:1") == [("x", 1)]
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVER")
    with pytest.raises(SystemExit):
        parsed()
    assert f"{path}: the file has an unknown key 'x'" in capsys.readouterr().err


def test_a_file_of_client_options_names_brokers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\nbootstrap.servers=a:1\nacks=all\n")
    given = ("--command-config", str(path))
    parser = ClusterParser("topic list", "Lists.")
    options = parser.parse(given)
    assert options.bootstrap_server == [("a", 1)]
    assert options.security.protocol == "SSL"
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "b:2")
    assert parsed(*given) == [("a", 1)]
    assert parsed(*given, "--bootstrap-server", "c:3") == [("c", 3)]
    monkeypatch.setenv("ODRADEK_CLIENT_CONFIG", str(path))
    assert parsed() == [("b", 2)]
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVER")
    assert parsed() == [("a", 1)]
    path.write_text("sasl.pasword=marker")
    with pytest.raises(SystemExit) as ended:
        parsed()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert f"{path}: sasl.pasword: there is no such option; did you mean" in error
    assert "marker" not in error
