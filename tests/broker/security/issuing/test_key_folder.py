from datetime import UTC, datetime
from pathlib import Path

import pytest

from odradek.broker.security.issuing.issuer import IssuingError
from odradek.broker.security.issuing.key_folder import KeyFolder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> KeyFolder:
    made = KeyFolder(tmp_path / "keys")
    assert made.make_ca(NOW)
    return made


def modes(folder: KeyFolder) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.path.iterdir()}


def test_only_the_certificate_of_the_ca_is_for_everybody(folder: KeyFolder) -> None:
    folder.make_server(["kafka.example.com"], NOW)
    folder.make_client("alice", "pw", NOW)
    assert modes(folder) == {
        "ca.pem": 0o644,
        "ca.key": 0o600,
        "server.pem": 0o600,
        "alice.pem": 0o600,
        "alice.p12": 0o600,
        "alice.p12.password": 0o600,
    }


def test_the_server_is_also_known_as_this_machine(folder: KeyFolder) -> None:
    assert folder.make_server(["a.example", "localhost"], NOW) == [
        "a.example",
        "localhost",
        "127.0.0.1",
        "::1",
    ]
    text = folder.server.read_text()
    assert text.count("BEGIN PRIVATE KEY") == 1
    assert text.count("BEGIN CERTIFICATE") == 2
    assert text.endswith(folder.ca.read_text())


def test_nothing_is_overwritten_unless_somebody_says_so(folder: KeyFolder) -> None:
    folder.make_server(["localhost"], NOW)
    folder.make_client("alice", "pw", NOW)
    before = {path: path.read_bytes() for path in folder.path.iterdir()}
    assert not folder.make_ca(NOW)
    with pytest.raises(IssuingError, match=r"server\.pem is there.*--renew"):
        folder.make_server(["localhost"], NOW)
    with pytest.raises(IssuingError, match=r"alice\.pem is there.*--renew"):
        folder.make_client("alice", "pw", NOW)
    assert {path: path.read_bytes() for path in folder.path.iterdir()} == before
    folder.make_server(["localhost"], NOW, renews=True)
    folder.make_client("alice", "pw", NOW, renews=True)
    changed = [path for path in before if path.read_bytes() != before[path]]
    assert {each.name for each in changed} == {"server.pem", "alice.pem", "alice.p12"}


def test_a_run_that_was_interrupted_goes_on_with_the_key_that_is_there(
    folder: KeyFolder,
) -> None:
    key = folder.ca_key.read_bytes()
    folder.ca.unlink()
    assert folder.make_ca(NOW)
    assert folder.ca_key.read_bytes() == key
    assert modes(folder) == {"ca.pem": 0o644, "ca.key": 0o600}
    assert folder.make_server(["localhost"], NOW)  # the two belong together
    assert not folder.make_ca(NOW)


@pytest.mark.parametrize("key", [b"", b"torn", b"\xff\xfe"])
def test_a_key_that_was_not_written_whole_is_said(
    folder: KeyFolder, key: bytes
) -> None:
    folder.ca.unlink()
    folder.ca_key.write_bytes(key)
    with pytest.raises(IssuingError, match="damaged"):
        folder.make_ca(NOW)
    assert not folder.ca.exists()


def test_half_a_ca_is_none(folder: KeyFolder) -> None:
    folder.make_server(["localhost"], NOW)
    folder.ca.unlink()
    with pytest.raises(IssuingError, match=r"ca\.key is there, and ca\.pem is not"):
        folder.make_ca(NOW)
    with pytest.raises(IssuingError, match=r"ca\.pem is not there: 'odradek cert init"):
        folder.make_server(["localhost"], NOW, renews=True)
    folder.ca.write_bytes(b"\xff\xfe")
    with pytest.raises(IssuingError, match="damaged"):
        folder.make_server(["localhost"], NOW, renews=True)


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".x", "ca", "Server", "client", "-x"]
)
def test_a_client_cannot_be_called_like_another_file(
    folder: KeyFolder, name: str
) -> None:
    before = modes(folder)
    with pytest.raises(IssuingError, match="cannot be the name of its files"):
        folder.make_client(name, "pw", NOW)
    assert modes(folder) == before
