from pathlib import Path

import pytest

from odradek.client.security.names import SecurityOptionError
from odradek.client.security.references import has_reference, resolved


def test_values_of_files_folders_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("a=first\npassword = one: two\npassword=last\n")
    (tmp_path / "token").write_text("of a folder\n")
    found = resolved(
        {
            "sasl.username": "alice",
            "sasl.password": f"${{file:{tmp_path}/secrets:password}}",
            "sasl.jaas.config": 'x required user="${env:ME}" password="${env:PW}";',
            "ssl.key.password": f"${{dir:{tmp_path}:token}}",
        },
        environ={"ME": "bob", "PW": "p"},
    )
    assert found == {
        "sasl.username": "alice",
        "sasl.password": "last",
        "sasl.jaas.config": 'x required user="bob" password="p";',
        "ssl.key.password": "of a folder",
    }


def test_a_file_that_is_somewhere_else_here(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("a=b")
    options = {"sasl.password": "${file:/elsewhere/secrets:a}"}

    def place(path: str) -> str:
        return str(tmp_path / Path(path).name)

    assert resolved(options, place) == {"sasl.password": "b"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("${env:NOBODY_HAS_IT}", "no environment variable NOBODY_HAS_IT"),
        ("${file:/nowhere/x:a}", "/nowhere/x: No such file"),
        ("${file:HERE/secrets:b}", "secrets has no b"),
        ("${file:HERE/secrets}", r"write it like \$\{file:PATH:KEY\}"),
        ("${dir:HERE:nothing}", "nothing: No such file"),
        ("${dir:HERE}", r"write it like \$\{dir:PATH:NAME\}"),
        ("${file:HERE/bytes:a}", "it is no text"),
        ("${vault:a:b}", r"no \$\{vault:...\}"),
    ],
)
def test_what_is_not_there(tmp_path: Path, value: str, reason: str) -> None:
    (tmp_path / "secrets").write_text("a=b")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe=\x80")
    value = value.replace("HERE", str(tmp_path))
    with pytest.raises(SecurityOptionError, match=reason) as caught:
        resolved({"sasl.password": value})
    assert caught.value.option == "sasl.password"


def test_what_refers_to_something() -> None:
    assert has_reference("${env:A}")
    assert has_reference('password="${file:/a:b}"')
    assert not has_reference("a$b{c}")
