from pathlib import Path

import pytest

from odradek.broker.cli.secure.secure_folder import (
    SecureFolder,
    broker_options,
    check_user,
    credentials,
)
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.terminal.password import NoPassword


def test_the_password_that_is_there_stays(tmp_path: Path) -> None:
    folder = SecureFolder(tmp_path / "a" / "b")
    assert folder.keep_password("first") == "first"
    assert folder.keep_password("second") == "first"
    assert folder.password_file.stat().st_mode & 0o777 == 0o600
    folder.password_file.write_text("")
    with pytest.raises(NoPassword, match="cannot be empty"):
        folder.keep_password("second")


def test_a_client_is_found_again(tmp_path: Path) -> None:
    folder = SecureFolder(tmp_path)
    with pytest.raises(IssuingError, match="'odradek secure init --dir "):
        folder.read_client()
    folder.write_clients("a:1", "root", "pw")
    folder.write_clients("b:2", "other", "pw")  # what is there stays
    assert folder.read_client() == folder.client("a:1", "root")
    for path in folder.java_file, folder.librdkafka_file:
        assert path.stat().st_mode & 0o777 == 0o600


def test_the_first_user_logs_in_by_all_mechanisms() -> None:
    found = credentials("root", "pw")
    assert [each.mechanism for each in found] == [1, 2]
    assert all(b"pw" not in bytes(each.salted_password) for each in found)


def test_the_first_user_may_do_everything(tmp_path: Path) -> None:
    options = dict(broker_options(SecureFolder(tmp_path), "root"))
    assert options["super.users"] == "User:root"
    assert options["ssl.certificate.file"] == str(tmp_path / "server.pem")


@pytest.mark.parametrize("name", ["", " ", " a", "a\nb", "a;b", "x" * 256])
def test_a_user_has_a_name(name: str) -> None:
    assert check_user("al ice") == "al ice"
    with pytest.raises(ValueError, match="is not the name of a user"):
        check_user(name)
