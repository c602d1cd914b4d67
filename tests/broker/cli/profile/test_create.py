from pathlib import Path

from odradek.client.profiles import Profile, Profiles, read_profiles

from .conftest import ProfileShell


def test_what_is_created_is_in_use(profiles: ProfileShell, config_home: Path) -> None:
    prod = ("--bootstrap-server", "kafka-1,kafka-2:9", "--registry", "http://a:b@c")
    assert profiles.run("create", "prod", *prod) == ["prod: created, and in use"]
    assert profiles.run_json("create", "dev", "--color", "never") == [
        {"profile": "dev", "current": True, "color": "never"}
    ]
    assert read_profiles(config_home / "odradek/profiles.toml") == Profiles(
        {
            "prod": Profile("kafka-1,kafka-2:9", "http://a:b@c"),
            "dev": Profile(color="never"),
        },
        "dev",
    )


def test_a_name_is_given_once(profiles: ProfileShell) -> None:
    profiles.run("create", "dev", "--bootstrap-server", "a")
    profiles.run("create", "dev", "--bootstrap-server", "b", code=1)
    assert "profile dev exists; --replace changes what it says" in profiles.error
    assert "  bootstrap_servers=a" in profiles.run("show")
    profiles.run("create", "dev", "--bootstrap-server", "b", "--replace")
    assert "  bootstrap_servers=b" in profiles.run("show")


def test_mistakes(profiles: ProfileShell) -> None:
    profiles.run("create", "dev", code=2)
    assert "say what to keep" in profiles.error
    profiles.run("create", "a b", "--bootstrap-server", "a", code=1)
    assert "'a b' is not a name" in profiles.error
    profiles.run("create", "dev", "--bootstrap-server", "a:x", code=1)
    assert "profile dev: 'a:x' is" in profiles.error
    assert profiles.run("list") == ["no profiles"]


def test_a_file_with_passwords_is_named_and_not_copied(
    profiles: ProfileShell, tmp_path: Path, config_home: Path
) -> None:
    path = tmp_path / "prod.properties"
    path.write_text("sasl.password=marker")
    profiles.run("create", "prod", "--command-config", str(path))
    assert profiles.run("show") == [
        "profile prod, in use",
        f"  command_config={path}",
    ]
    assert "marker" not in (config_home / "odradek/profiles.toml").read_text()
