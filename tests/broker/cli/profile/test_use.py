from .conftest import ProfileShell


def test_one_is_used_or_none(profiles: ProfileShell) -> None:
    for name in "prod", "dev":
        profiles.run("create", name, "--bootstrap-server", name)
    assert profiles.run("use", "prod") == ["prod: in use"]
    assert profiles.run_json("show")[0]["profile"] == "prod"
    assert profiles.run_json("use", "--none") == [{"current": None}]
    assert profiles.run("use", "--none") == ["no profile is in use"]
    assert profiles.run("show") == ["no profile is in use"]


def test_mistakes(profiles: ProfileShell) -> None:
    profiles.run("create", "prod", "--bootstrap-server", "a")
    profiles.run("use", "pord", code=1)
    assert "no profile is called 'pord'; did you mean prod?" in profiles.error
    profiles.run("use", code=2)
    profiles.run("use", "prod", "--none", code=2)
