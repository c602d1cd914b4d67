from pathlib import Path

import pytest

from odradek.broker.config.looked_up import LookedUp, is_reference
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.sources import load

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
    looked_up = LookedUp({}, {"A": "1", "EMPTY": ""})
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
        assert looked_up.value(text) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("${env:NONE}", r"\$\{env:NONE\} is not there"),
        ("${file:SECRETS:none}", "is not there"),
        ("${file:/no/such:key}", "there is no such file"),
        ("${file:key}", "it names no file"),
        ("${file:FOLDER:key}", "there is no such file"),
        ("${file:/dev/zero:key}", "there is no such file"),
        ("${dir:FOLDER:../x}", "a file of the directory itself"),
        ("${dir:FOLDER:}", "a file of the directory itself"),
        ("${dir:FOLDER:none}", "is not there"),
        ("${dir:FOLDER:binary}", "no text of UTF-8"),
        ("${dir:FOLDER:big}", "more than 1 MiB"),
    ],
)
def test_what_is_not_there_is_said(secrets: Path, text: str, complaint: str) -> None:
    (secrets.parent / "binary").write_bytes(b"\xff")
    (secrets.parent / "big").write_bytes(bytes((1 << 20) + 1))
    text = text.replace("SECRETS", str(secrets)).replace("FOLDER", str(secrets.parent))
    with pytest.raises(OptionError, match=complaint):
        LookedUp({}, {}).value(text)


def test_providers_have_the_names_and_the_limits_that_they_are_given(
    secrets: Path, tmp_path: Path
) -> None:
    looked_up = LookedUp(
        {
            "config.providers": "secret, own",
            "config.providers.secret.class": f"{CLASSES}FileConfigProvider",
            "config.providers.secret.param.allowed.paths": f"/etc,{tmp_path}",
            "config.providers.own.class": f"{CLASSES}EnvVarConfigProvider",
            "config.providers.own.param.allowlist.pattern": "KAFKA_.*",
        },
        {"KAFKA_A": "1", "B": "2"},
    )
    assert looked_up.value(f"${{secret:{secrets}:key.password}}") == MARKER
    assert looked_up.value("${own:KAFKA_A}") == "1"
    assert looked_up.value("${env:B}") == "${env:B}"
    with pytest.raises(OptionError, match=r"the pattern KAFKA_\.\* does not have it"):
        looked_up.value("${own:B}")
    for path in (f"{tmp_path}/../secrets.properties", "/var/x"):
        with pytest.raises(OptionError, match="in none of the allowed paths"):
            looked_up.value(f"${{secret:{path}:key}}")


def test_other_providers_are_refused() -> None:
    with pytest.raises(OptionError, match=r"vault, and config\.providers\.vault\.cl"):
        LookedUp({"config.providers": "vault"}, {})


def test_a_reference_is_a_whole_value() -> None:
    assert is_reference(" ${file:/a:b} ")
    assert not is_reference("x${file:/a:b}")


def test_a_start_looks_up_all_its_values(secrets: Path, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "config.providers=file\n"
        f"config.providers.file.class={CLASSES}FileConfigProvider\n"
        f"ssl.key.password=${{file:{secrets}:key.password}}\n"
    )
    loaded = load(file)
    assert loaded.config.ssl_key_password == MARKER
    assert not any("mean nothing" in note for note in loaded.notes)
    with pytest.raises(OptionError, match=r"^-o: num\.partitions: \$\{env:NONE\} is"):
        load(None, {}, ["num.partitions=${env:NONE}"])


def test_what_was_found_is_in_no_message(secrets: Path) -> None:
    pair = f"num.partitions=${{file:{secrets}:key.password}}"
    with pytest.raises(OptionError) as refused:
        load(None, {}, [pair])
    assert MARKER not in str(refused.value)
    assert "Invalid value ${file:" in str(refused.value)


def test_a_secret_on_the_command_line_is_refused(secrets: Path) -> None:
    for name in ("ssl.key.password", "listener.name.plaintext.ssl.key.password"):
        with pytest.raises(OptionError) as refused:
            load(None, {}, [f"{name}={MARKER}"])
        assert MARKER not in str(refused.value)
        assert "everybody on this machine sees a command line" in str(refused.value)
    reference = f"${{file:{secrets}:key.password}}"
    assert load(None, {}, [f"ssl.key.password={reference}"]).config.ssl_key_password
    assert load(None, {}, ["ssl.key.password="]).config.ssl_key_password is None
