import os
from pathlib import Path

import pytest

from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.login.users_file import read_users


def test_a_user_a_line(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# names\nalice:secret\n\nbob:a:b\n")
    file.chmod(0o600)
    assert read_users(file) == {"alice": "secret", "bob": "a:b"}


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("alice:secret", 0o640, "open to others .*chmod 600"),
        ("alice:secret\nbob", 0o600, "line 2: expected name:password"),
        (":secret", 0o600, "line 1"),
        (None, 0, "cannot be read"),
    ],
)
def test_what_is_wrong_with_it_stops_the_start(
    tmp_path: Path, text: str | None, mode: int, complaint: str
) -> None:
    """A22"""
    file = tmp_path / "users"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    with pytest.raises(StartError, match=complaint) as refused:
        read_users(file)
    assert "secret" not in str(refused.value)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "users"
    os.mkfifo(pipe, 0o600)
    for path in (pipe, tmp_path):
        with pytest.raises(StartError, match="it is no file"):
            read_users(path)


def test_a_link_is_as_open_as_what_it_leads_to(tmp_path: Path) -> None:
    """A22"""
    file, link = tmp_path / "users", tmp_path / "link"
    file.write_text("alice:secret\n")
    link.symlink_to(file)
    file.chmod(0o600)
    assert read_users(link) == {"alice": "secret"}
    for mode in (0o640, 0o604, 0o666):
        file.chmod(mode)
        with pytest.raises(StartError, match=f"mode {mode:o}.*chmod 600 {link}"):
            read_users(link)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(StartError, match="Too many levels of symbolic links"):
        read_users(link)
