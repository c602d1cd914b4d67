from .conftest import ProfileShell


def test_a_profile_is_forgotten(profiles: ProfileShell) -> None:
    for name in "prod", "dev":
        profiles.run("create", name, "--bootstrap-server", name)
    assert profiles.run_json("delete", "prod") == [{"profile": "prod", "deleted": True}]
    assert profiles.run("delete", "dev") == ["dev: deleted; no profile is in use"]
    profiles.run("delete", "dev", code=1)
    assert "no profile is called 'dev'" in profiles.error
    assert profiles.run("list") == ["no profiles"]
