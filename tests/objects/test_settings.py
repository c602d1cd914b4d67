"""How a store is found, and what may stand in an option."""

from pathlib import Path

import pytest

from odradek.objects.location import parse_location
from odradek.objects.settings import StoreSettings, check_options

KEYS = {"AWS_ACCESS_KEY_ID": "AKIASHOWN", "AWS_SECRET_ACCESS_KEY": "secret-shown"}


def settings(
    url: str, options: dict[str, str] | None = None, **environment: str
) -> StoreSettings:
    given = {"HOME": "/none", "PATH": "/none", **environment}
    return StoreSettings(parse_location(url), options or {}, given)


@pytest.mark.parametrize(
    ("scheme", "name", "value", "said"),
    [
        ("s3", "secret_access_key", "x", "a secret does not belong here"),
        ("s3", "aws_session_token", "x", "AWS_SESSION_TOKEN"),
        ("az", "account_key", "x", "AZURE_STORAGE_KEY"),
        ("gs", "service_account_key", "x", "application-default login"),
        ("s3", "endpiont", "x", "Did you mean endpoint"),
        ("gs", "endpoint", "http://h", "has no option endpoint"),
        ("s3", "endpoint", "minio:9000", "write it like https"),
        ("s3", "endpoint", "https://user:secret-shown@h", "may hold a secret"),
        ("az", "endpoint", "https://h/?sig=secret-shown", "may hold a secret"),
    ],
)
def test_options_that_are_refused(
    scheme: str, name: str, value: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        check_options(scheme, {name: value})
    assert "secret-shown" not in str(raised.value)


def test_options_go_before_the_environment_and_that_before_files(
    tmp_path: Path,
) -> None:
    (tmp_path / ".aws").mkdir()
    text = "[default]\nregion = file\nendpoint_url = http://file\n"
    (tmp_path / ".aws" / "config").write_text(text)
    home = str(tmp_path)
    found = settings("s3://b/t", HOME=home)
    assert (found.region, found.endpoint) == ("file", "http://file")
    there = {"AWS_REGION": "there", "AWS_ENDPOINT_URL": "http://there"}
    found = settings("s3://b/t", HOME=home, **there)
    assert (found.region, found.endpoint) == ("there", "http://there")
    given = {"region": "given", "endpoint": "http://given"}
    found = settings("s3://b/t", given, HOME=home, **there)
    assert (found.region, found.endpoint) == ("given", "http://given")


def test_who_is_asked() -> None:
    assert settings("s3://b/t", {"region": "r"}).host == "s3.r.amazonaws.com"
    assert settings("s3://b/t", {"endpoint": "http://h:9000"}).host == "h:9000"
    assert settings("gs://b/t").host == "storage.googleapis.com"
    assert settings("az://b/t", {"account": "a"}).host == "a.blob.core.windows.net"


def test_credentials_of_the_environment_or_of_a_profile(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    text = "[work]\naws_access_key_id = A\naws_secret_access_key = B\n"
    (tmp_path / ".aws" / "credentials").write_text(text)
    home = {"HOME": str(tmp_path)}
    assert settings("s3://b/t", **home).aws_credentials() is None
    named = settings("s3://b/t", AWS_PROFILE="work", **home).aws_credentials()
    assert named is not None
    assert named.key_id == "A"
    both = settings("s3://b/t", AWS_PROFILE="work", **home, **KEYS)
    assert both.aws_credentials() is None
    asked = settings("s3://b/t", {"profile": "work"}, **home, **KEYS)
    assert asked.aws_credentials() == named


def test_nothing_secret_is_shown() -> None:
    shown = repr(settings("s3://b/t", {"region": "r"}, **KEYS))
    assert "secret-shown" not in shown
    assert "AKIASHOWN" not in shown


def test_tasks_find_the_same_store() -> None:
    found = settings("s3://b/t", AWS_ENDPOINT_URL="http://h:1", AWS_REGION="r", **KEYS)
    assert found.for_tasks() == {"endpoint": "http://h:1", "region": "r"}
    assert settings("gs://b/t").for_tasks() == {}
    there = {"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": "secret-shown"}
    assert settings("az://b/t", **there).for_tasks() == {"account": "a"}
    wrong = settings("s3://b/t", AWS_ENDPOINT_URL="http://user:secret-shown@h")
    with pytest.raises(ValueError, match="may hold a secret"):
        wrong.for_tasks()
