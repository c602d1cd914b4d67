from pathlib import Path

from .conftest import ProfileShell


def test_a_file_that_is_wrong_is_named(
    profiles: ProfileShell, config_home: Path
) -> None:
    path = config_home / "odradek/profiles.toml"
    path.parent.mkdir()
    path.write_text("profiles = 1")
    for given in (["list"], ["show"], ["use", "a"], ["delete", "a"]):
        profiles.run(*given, code=1)
        assert f"{path}: write current = NAME" in profiles.error
    assert path.read_text() == "profiles = 1"


def test_a_folder_that_cannot_be_made(
    profiles: ProfileShell, config_home: Path
) -> None:
    (config_home / "odradek").write_text("a file")
    profiles.run("create", "dev", "--bootstrap-server", "a", code=1)
    assert str(config_home / "odradek") in profiles.error
