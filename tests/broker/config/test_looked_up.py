from pathlib import Path

import pytest

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.sources import load

MARKER = "marker-secret"
CLASSES = "org.apache.kafka.common.config.provider."


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text(f"key.password = {MARKER}\n")
    return path


def test_a_reference_says_what_is_wrong_with_it(secrets: Path) -> None:
    for text, complaint in {
        "${env:NONE}": r"\$\{env:NONE\} cannot be looked up: there is no environment",
        f"${{file:{secrets}:none}}": "secrets.properties has no none",
        "${file:~/x:key}": "~/x: No such file",  # a server has no home
        "${fiel:/x:y}": r"\$\{fiel:\.\.\.\} cannot be looked up: .* mean file\?$",
        "a${dir:/run/secrets:../x}b": r"num\.partitions: \$\{dir:/run/secrets:../x\} c",
    }.items():
        with pytest.raises(OptionError, match=complaint):
            load(None, {}, [f"num.partitions={text}"])


def test_other_providers_are_refused() -> None:
    with pytest.raises(OptionError, match=r"vault, and config\.providers\.vault\.cl"):
        load(None, {}, ["config.providers=vault"])


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
    with pytest.raises(OptionError, match=r"^-o: num\.partitions: \$\{env:NONE\} c"):
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
