import os
import stat
import tomllib
from pathlib import Path

import pytest

from odradek.client.profiles import (
    Profile,
    ProfileError,
    Profiles,
    profile_in_use,
    profiles_path,
    read_profiles,
    write_profiles,
)

PROD = Profile("kafka-1:9092,kafka-2", "https://me:secret@registry", "never")
DEV = Profile("localhost:9092")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "odradek" / "profiles.toml"


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = profiles_path({"XDG_CONFIG_HOME": "/etc/xdg"})
    assert found == Path("/etc/xdg/odradek/profiles.toml")
    monkeypatch.setenv("HOME", "/home/me")
    for environ in ({}, {"XDG_CONFIG_HOME": "relative"}):
        found = profiles_path(environ)
        assert found == Path("/home/me/.config/odradek/profiles.toml")


def test_what_was_written_is_read(path: Path) -> None:
    assert read_profiles(path) == Profiles({})
    assert read_profiles(Path("/dev/null/profiles.toml")) == Profiles({})
    profiles = Profiles({}).with_profile("prod", PROD).with_profile("dev.1", DEV)
    assert profiles.current == "dev.1"
    write_profiles(path, profiles)
    assert read_profiles(path) == profiles
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["profiles.toml"]
    path.write_text(path.read_text(), encoding="utf-8-sig")  # as Windows does
    assert read_profiles(path) == profiles
    tables = tomllib.loads(path.read_text("utf-8-sig"))["profiles"]
    assert tables["dev.1"] == {"bootstrap_servers": "localhost:9092"}


def test_a_file_that_cannot_be_written_is_as_it_was(path: Path) -> None:
    write_profiles(path, Profiles({"prod": PROD}))
    (path.parent / f".{path.name}.{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_profiles(path, Profiles({}))
    assert read_profiles(path).known == {"prod": PROD}


def test_one_is_in_use_until_it_goes() -> None:
    profiles = Profiles({"prod": PROD, "dev": DEV}, "prod")
    assert profiles.using("dev").current == "dev"
    assert profiles.using("").current == ""
    assert profiles.without("dev") == Profiles({"prod": PROD}, "prod")
    assert profiles.without("prod") == Profiles({"dev": DEV}, "")
    for change in (profiles.using, profiles.without):
        with pytest.raises(ProfileError, match=r"'pord'; did you mean prod\?"):
            change("pord")
    with pytest.raises(ProfileError, match="profile create makes one"):
        Profiles({}).named("x")


def test_who_says_which_profile_it_is(path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(path.parents[1])}
    assert profile_in_use(environ=environ) == ("", Profile())
    write_profiles(path, Profiles({"prod": PROD, "dev": DEV}, "prod"))
    assert profile_in_use(environ=environ) == ("prod", PROD)
    environ["ODRADEK_PROFILE"] = "dev"
    assert profile_in_use(environ=environ) == ("dev", DEV)
    assert profile_in_use("prod", environ) == ("prod", PROD)
    environ["ODRADEK_PROFILE"] = "test"
    with pytest.raises(ProfileError, match="no profile is called 'test'"):
        profile_in_use(environ=environ)


def test_passwords_are_not_shown() -> None:
    assert PROD.shown() == {
        "bootstrap_servers": "kafka-1:9092,kafka-2",
        "registry": "https://me:***@registry",
        "color": "never",
    }
    assert DEV.shown() == {"bootstrap_servers": "localhost:9092"}
    assert Profile(registry="http://me@r").shown() == {"registry": "http://me@r"}


@pytest.mark.parametrize(
    ("name", "profile", "complaint"),
    [
        ("", DEV, "'' is not a name"),
        ("a b", DEV, "'a b' is not a name"),
        ("p", Profile("a:x"), "profile p: 'a:x' is"),
        ("p", Profile(registry="me:secret@x"), "is not a URL of http"),
        ("p", Profile(color="red"), "color is one of auto, always, never"),
        ("p", Profile("a\x1b"), "cannot be printed"),
    ],
)
def test_what_a_profile_cannot_say(name: str, profile: Profile, complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint):
        Profiles({}).with_profile(name, profile)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("x = = 1", "line 1"),
        ("current = 7", "write current = NAME"),
        ('current = "x"', "no profile is called 'x'"),
        ("profile = 1", "unknown key 'profile'; did you mean profiles?"),
        ("[profiles]\np = 1", "write a table"),
        ("[profiles.p]\nbootstrap_server = 'a'", "did you mean bootstrap_servers?"),
        ("[profiles.p]\nregistry = 1", "registry is not a text"),
        ("[profiles.p]\nbootstrap_servers = 'a:x'", "'a:x' is"),
    ],
)
def test_a_file_that_is_wrong_is_named(
    path: Path, content: str, complaint: str
) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(ProfileError) as refused:
        read_profiles(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert complaint in str(refused.value)
