from pathlib import Path

import pytest

from odradek.client.defaults import client_file, default_bootstrap, default_registry
from odradek.client.profiles import Profile, ProfileError, Profiles, write_profiles

BOOTSTRAP, REGISTRY = "ODRADEK_BOOTSTRAP_SERVER", "ODRADEK_REGISTRY"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """One in which nothing is said, but there are profiles."""
    prod = Profile("kafka-1", "http://prod")
    profiles = Profiles({"prod": prod, "bare": Profile(color="never")})
    write_profiles(tmp_path / "odradek/profiles.toml", profiles)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_the_local_broker_unless_somebody_names_another(
    environ: dict[str, str],
) -> None:
    assert default_bootstrap(None, environ) == ("127.0.0.1:9092", "")
    assert default_bootstrap("bare", environ) == ("127.0.0.1:9092", "")
    environ[BOOTSTRAP] = " "
    assert default_bootstrap(None, environ) == ("127.0.0.1:9092", "")
    environ["ODRADEK_PROFILE"] = "prod"
    assert default_bootstrap(None, environ) == ("kafka-1", "profile prod")
    environ[BOOTSTRAP] = "a:1,b"
    assert default_bootstrap(None, environ) == ("a:1,b", BOOTSTRAP)
    assert default_bootstrap("prod", environ) == ("kafka-1", "profile prod")
    assert default_bootstrap("bare", environ) == ("a:1,b", BOOTSTRAP)
    with pytest.raises(ProfileError):
        default_bootstrap("test", environ)


def test_no_registry_unless_somebody_names_one(environ: dict[str, str]) -> None:
    assert default_registry(None, environ) == ""
    environ["ODRADEK_PROFILE"] = "prod"
    assert default_registry(None, environ) == "http://prod"
    environ[REGISTRY] = "http://other"
    assert default_registry(None, environ) == "http://other"
    assert default_registry("prod", environ) == "http://prod"
    assert default_registry("bare", environ) == "http://other"


def test_which_file_of_client_options_is_read(
    environ: dict[str, str], tmp_path: Path
) -> None:
    def file(name: str) -> str:
        path = tmp_path / name
        path.write_text(f"security.protocol=SSL\nbootstrap.servers={name}")
        return str(path)

    def found(given: str = "", profile: str = "", *, is_named: bool = False) -> str:
        said = client_file(given, profile, is_named=is_named, environ=environ)
        return said.bootstrap_servers if said else ""

    assert found() == ""
    known = {"mine": Profile(command_config=file("mine")), "bare": Profile("a")}
    write_profiles(tmp_path / "odradek/profiles.toml", Profiles(known, "mine"))
    assert found() == "mine"
    # What a profile says of its cluster is not for brokers that are named beside it.
    assert found(is_named=True) == ""
    environ[BOOTSTRAP] = "b:1"
    assert found() == ""
    environ["ODRADEK_CLIENT_CONFIG"] = file("of-environment")
    assert found() == found(is_named=True) == "of-environment"
    assert found(profile="mine") == "mine"
    assert found(profile="bare") == ""  # another cluster's password is not sent to it
    assert found(file("given"), "mine") == "given"
