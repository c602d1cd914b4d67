"""Credentials in the files of AWS's tools."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from odradek.objects.aws_profile import AwsCredentials, AwsProfile
from odradek.objects.errors import StoreRefused

SECRET = "secret-shown"


def profile(folder: Path, name: str = "default", **files: str) -> AwsProfile:
    home = folder / ".aws"
    home.mkdir(exist_ok=True)
    for file, text in files.items():
        (home / file).write_text(text)
    return AwsProfile(name, {"HOME": str(folder)})


def test_no_files(tmp_path: Path) -> None:
    found = AwsProfile("default", {"HOME": str(tmp_path)})
    assert found.credentials() is None
    assert found.settings() == {}


def test_keys_and_settings_of_a_profile(tmp_path: Path) -> None:
    found = profile(
        tmp_path,
        "work",
        credentials="[work]\naws_access_key_id = A\n"
        f"aws_secret_access_key = {SECRET}%\n"
        "[default]\naws_access_key_id = B\naws_secret_access_key = C\n"
        "aws_session_token = D\n",
        config="[profile work]\nregion = eu-west-1\n[default]\nregion = us-west-2\n",
    )
    assert found.credentials() == AwsCredentials("A", SECRET + "%")
    assert found.settings()["region"] == "eu-west-1"
    usual = profile(tmp_path)
    assert usual.credentials() == AwsCredentials("B", "C", "D")
    assert usual.settings()["region"] == "us-west-2"


def test_files_that_the_environment_names(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("[default]\naws_access_key_id=A\naws_secret_access_key=B\n")
    found = AwsProfile("default", {"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert found.credentials() == AwsCredentials("A", "B")


def test_credentials_of_a_process(tmp_path: Path) -> None:
    answer = (
        '{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B",'
        ' "SessionToken": "T", "Expiration": "2026-01-31T12:00:00Z"}'
    )
    (tmp_path / "answer").write_text(answer)
    command = f"{sys.executable} -c \"print(open('{tmp_path}/answer').read())\""
    found = profile(tmp_path, config=f"[default]\ncredential_process = {command}\n")
    expires = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert found.credentials() == AwsCredentials("A", "B", "T", expires)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/none/here", "cannot be run"),
        ("false", "exit code 1"),
        (f"echo {SECRET}", "gave no credentials"),
        ("echo []", "gave no credentials"),
    ],
)
def test_process_that_gives_none(command: str, said: str, tmp_path: Path) -> None:
    found = profile(tmp_path, config=f"[default]\ncredential_process = {command}\n")
    with pytest.raises(StoreRefused, match=said) as raised:
        found.credentials()
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("key", ["role_arn", "sso_session"])
def test_what_needs_their_own_tools(key: str, tmp_path: Path) -> None:
    found = profile(tmp_path, "work", config=f"[profile work]\n{key} = x\n")
    with pytest.raises(StoreRefused, match="export-credentials --profile work"):
        found.credentials()


def test_file_that_is_something_else(tmp_path: Path) -> None:
    found = profile(tmp_path, credentials=f"{SECRET}\n")
    with pytest.raises(StoreRefused, match="is no file of AWS's tools") as raised:
        found.credentials()
    assert SECRET not in str(raised.value)


def test_credentials_are_not_shown() -> None:
    assert SECRET not in repr(AwsCredentials("A", SECRET))
