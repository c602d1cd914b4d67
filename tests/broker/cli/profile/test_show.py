import pytest

from .conftest import ProfileShell


def test_what_a_profile_says(
    profiles: ProfileShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles.run("create", "dev", "--bootstrap-server", "a:1,b:2")
    profiles.run("create", "prod", "--registry", "http://me:secret@r")
    assert profiles.run("show") == [
        "profile prod, in use",
        "  registry=http://me:***@r",
    ]
    assert profiles.run("show", "dev") == [
        "profile dev",
        "  bootstrap_servers=a:1,b:2",
    ]
    monkeypatch.setenv("ODRADEK_PROFILE", "dev")
    assert profiles.run("show")[0] == "profile dev"
    profiles.run("show", "test", code=1)
    assert "no profile is called 'test'" in profiles.error
