"""What Azure's command line finds in the environment."""

from pathlib import Path

from odradek.objects.azure_environment import azure_environment

NOWHERE = {"PATH": "/none"}


def test_names_of_the_command_line() -> None:
    given = {"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": "k", **NOWHERE}
    assert azure_environment(given) == {"account_name": "a", "account_key": "k"}


def test_connection_string() -> None:
    text = "AccountName=a;AccountKey=k==;BlobEndpoint=http://h:1/a;Other=x"
    given = {"AZURE_STORAGE_CONNECTION_STRING": text, **NOWHERE}
    assert azure_environment(given) == {
        "account_name": "a",
        "account_key": "k==",
        "endpoint": "http://h:1/a",
    }


def test_command_line_is_asked_last(tmp_path: Path) -> None:
    command = tmp_path / "az"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    here = {"PATH": str(tmp_path)}
    assert azure_environment(here) == {"use_azure_cli": "true"}
    assert azure_environment(NOWHERE) == {}
    for name in ("AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_ID", "IDENTITY_ENDPOINT"):
        assert "use_azure_cli" not in azure_environment({name: "x", **here})
