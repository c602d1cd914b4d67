from pathlib import Path

import pytest

from odradek.client.defaults import default_bootstrap, default_registry
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
