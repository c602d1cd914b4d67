"""What deltalake is told of a store."""

from pathlib import Path

from odradek.pipeline.tables.places.library_options import library_options
from tests.objects.test_settings import KEYS, settings


def test_credentials_of_the_environment_are_left_to_it() -> None:
    found = library_options(settings("s3://b/t", {"region": "r"}, **KEYS))
    assert found["aws_region"] == "r"
    assert not any("secret" in name for name in found)


def test_plain_http_is_named() -> None:
    found = library_options(settings("s3://b/t", {"endpoint": "http://h:1"}))
    assert (found["aws_endpoint_url"], found["allow_http"]) == ("http://h:1", "true")
    assert "allow_http" not in library_options(settings("s3://b/t"))


def test_credentials_of_a_profile_are_given(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    text = (
        "[work]\naws_access_key_id = A\naws_secret_access_key = B\n"
        "aws_session_token = C\n"
    )
    (tmp_path / ".aws" / "credentials").write_text(text)
    named = settings("s3://b/t", {"profile": "work"}, HOME=str(tmp_path))
    found = library_options(named)
    assert found["aws_secret_access_key"] == "B"
    assert found["aws_session_token"] == "C"


def test_names_of_azure() -> None:
    given = settings("az://b/t", {"account": "a"}, AZURE_STORAGE_KEY="k")
    found = library_options(given)
    assert found["azure_storage_account_name"] == "a"
    assert found["azure_storage_account_key"] == "k"
