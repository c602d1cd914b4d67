from pathlib import Path

import pytest

from odradek.client.security.names import SecurityOptionError
from odradek.client.security.references import (
    BadReference,
    References,
    has_reference,
    is_reference,
    names_providers,
    resolved,
)

MARKER = "marker-secret"
CLASSES = "org.apache.kafka.common.config.provider."


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text(
        f"# a comment\nkey.password=wrong\nkey.password = {MARKER}\n"
        "a\\:b=with a colon\nnested=${env:HOME}\nempty=\n"
    )
    (tmp_path / "token").write_text(f"{MARKER}\n")
    return path


def test_values_are_found_in_files_directories_and_the_environment(
    secrets: Path,
) -> None:
    references = References({}, {"A": "1", "EMPTY": ""})
    for text, value in {
        f"${{file:{secrets}:key.password}}": MARKER,
        f"${{file:{secrets}:a:b}}": "with a colon",
        f"${{file:{secrets}:nested}}": "${env:HOME}",
        f"${{file:{secrets}:empty}}": "",
        f"${{dir:{secrets.parent}:token}}": f"{MARKER}\n",
        "${env:A}": "1",
        "${env::A}": "1",
        "${env:EMPTY}": "",
        "x${env:A}y${env:A}": "x1y1",
        "RULE:^CN=(?<name>.*)$/${name}/": "RULE:^CN=(?<name>.*)$/${name}/",
        "${vault:/a:b}": "${vault:/a:b}",
        "": "",
    }.items():
        assert references.resolved(text) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("${env:NONE}", "^there is no environment variable NONE$"),
        ("${env:a:HOME}", r"write it like \$\{env:NAME\}"),
        ("${env:}", r"write it like \$\{env:NAME\}"),
        ("${file:SECRETS:none}", "secrets.properties has no none"),
        ("${file:/no/such:key}", "^/no/such: No such file or directory$"),
        ("${file:key}", r"write it like \$\{file:PATH:KEY\}"),
        ("${file:SECRETS:}", r"write it like \$\{file:PATH:KEY\}"),
        ("${file:FOLDER:key}", "it is no file"),
        ("${file:/dev/zero:key}", "it is no file"),
        ("${file:a\0b:key}", "null byte"),
        ("${dir:FOLDER:../x}", "a file of the directory itself"),
        ("${dir:FOLDER:..}", "a file of the directory itself"),
        ("${dir:FOLDER:}", r"write it like \$\{dir:PATH:NAME\}"),
        ("${dir:FOLDER}", r"write it like \$\{dir:PATH:NAME\}"),
        ("${dir:FOLDER:none}", "none: No such file"),
        ("${dir:FOLDER:binary}", "no text of UTF-8"),
        ("${dir:FOLDER:big}", "more than 1 MiB"),
    ],
)
def test_what_is_not_there_is_said(secrets: Path, text: str, complaint: str) -> None:
    (secrets.parent / "binary").write_bytes(b"\xff")
    (secrets.parent / "big").write_bytes(bytes((1 << 20) + 1))
    text = text.replace("SECRETS", str(secrets)).replace("FOLDER", str(secrets.parent))
    with pytest.raises(BadReference, match=complaint) as refused:
        References({}, {}).resolved(f"a{text}b")
    assert refused.value.reference == text
    with pytest.raises(SecurityOptionError, match=complaint.strip("^")) as of_client:
        resolved({"sasl.username": "alice", "sasl.password": text}, environ={})
    assert of_client.value.option == "sasl.password"


@pytest.mark.parametrize(
    ("name", "meant"), [("fiel", "file"), ("File", "file"), ("evn", "env"), ("d", "")]
)
def test_a_provider_that_is_nearly_there_was_meant(name: str, meant: str) -> None:
    """What follows its name is not repeated: it may be a secret after all."""
    text = f"a${{{name}:/run/{MARKER}:key}}b"
    references = References({}, {})
    if not meant:
        assert references.resolved(text) == text
        return
    with pytest.raises(BadReference) as refused:
        references.resolved(text)
    assert str(refused.value) == f"there is no provider {name}; did you mean {meant}?"
    assert refused.value.reference == f"${{{name}:...}}"
    with pytest.raises(SecurityOptionError, match="did you mean") as of_client:
        resolved({"sasl.password": text}, environ={})
    assert of_client.value.option == "sasl.password"
    assert MARKER not in f"{refused.value}{of_client.value}"


def test_providers_have_the_names_and_the_limits_that_they_are_given(
    secrets: Path, tmp_path: Path
) -> None:
    options = {
        "config.providers": "secret, own",
        "config.providers.secret.class": f"{CLASSES}FileConfigProvider",
        "config.providers.secret.param.allowed.paths": f"/etc,{tmp_path}",
        "config.providers.own.class": f"{CLASSES}EnvVarConfigProvider",
        "config.providers.own.param.allowlist.pattern": "KAFKA_.*",
    }
    references = References(options, {"KAFKA_A": "1", "B": "2"})
    assert references.resolved(f"${{secret:{secrets}:key.password}}") == MARKER
    assert references.resolved("${own:KAFKA_A}") == "1"
    assert references.resolved("${env:B}") == "${env:B}"
    with pytest.raises(BadReference, match=r"the pattern KAFKA_\.\* does not have it"):
        references.resolved("${own:B}")
    for path in (f"{tmp_path}/../secrets.properties", "/var/x"):
        with pytest.raises(BadReference, match="in none of the allowed paths"):
            references.resolved(f"${{secret:{path}:key}}")
    given = {**options, "sasl.password": "${own:KAFKA_A}"}
    assert resolved(given, environ={"KAFKA_A": "1"})["sasl.password"] == "1"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, r"config\.providers has x, and config\.providers\.x\.class="),
        (
            {
                "config.providers.x.class": f"{CLASSES}EnvVarConfigProvider",
                "config.providers.x.param.allowlist.pattern": "(",
            },
            r"config\.providers\.x\.param\.allowlist\.pattern=\(: missing \)",
        ),
    ],
)
def test_providers_that_cannot_be(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(SecurityOptionError, match=complaint) as refused:
        resolved({"config.providers": "x", **options})
    assert refused.value.option == "config.providers"


def test_all_options_of_a_client(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=of a file")
    options = {
        "sasl.username": "alice",
        "sasl.password": "${file:/elsewhere/secrets:password}",
        "sasl.jaas.config": 'x required user="${env:ME}" password="${env:PW}";',
    }

    def place(path: str) -> str:
        return str(tmp_path / Path(path).name)

    assert resolved(options, place, {"ME": "bob", "PW": "p"}) == {
        "sasl.username": "alice",
        "sasl.password": "of a file",
        "sasl.jaas.config": 'x required user="bob" password="p";',
    }


def test_the_file_of_a_person_may_be_at_home(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(secrets.parent))
    options = {"sasl.password": "${file:~/secrets.properties:key.password}"}
    assert resolved(options) == {"sasl.password": MARKER}


def test_what_refers_to_something() -> None:
    assert has_reference("${env:A}")
    assert has_reference('password="${file:/a:b}"')
    assert not has_reference("a$b{c}")
    assert not has_reference("pa${ss:word}")  # of no provider: it is what it says
    assert is_reference(" ${file:/a:b} ")
    assert not is_reference("x${file:/a:b}")


def test_options_of_providers() -> None:
    assert names_providers("config.providers")
    assert names_providers("config.providers.env.class")
    assert not names_providers("config.providers2")
