from .conftest import ProfileShell


def test_profiles_are_named(profiles: ProfileShell) -> None:
    assert profiles.run("list") == ["no profiles"]
    assert profiles.run_json("list") == []
    profiles.run("create", "prod", "--registry", "http://me:secret@r")
    profiles.run("create", "dev", "--bootstrap-server", "a:1")
    assert profiles.run("list") == [
        "PROFILE  IN USE  BROKERS  REGISTRY",
        "dev      yes     a:1      -",
        "prod     -       -        http://me:***@r",
    ]
    assert profiles.run_json("list") == [
        {"profile": "dev", "current": True, "bootstrap_servers": "a:1"},
        {"profile": "prod", "current": False, "registry": "http://me:***@r"},
    ]
