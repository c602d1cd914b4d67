import argparse
import getpass
import io
import sys
from pathlib import Path

import pytest

from odradek.terminal.password import (
    NoPassword,
    made_password,
    password_arguments,
    password_in,
    password_of,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def parsed(*given: str, asks: bool = False) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    password_arguments(parser, asks=asks)
    return parser.parse_args(given)


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    left, asked = list(answers), []

    def answer(prompt: str, stream: object) -> str:
        assert stream is sys.stderr
        asked.append(prompt)
        return left.pop(0)

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", answer)
    return asked


def test_a_terminal_asks_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = typed(monkeypatch, "s3cret", "s3cret")
    assert password_of(parsed(), "al\x1bice").text == "s3cret"
    assert asked == ["password of al\\x1bice: ", "again: "]
    typed(monkeypatch, "s3cret", "secret")
    with pytest.raises(NoPassword, match="not the same"):
        password_of(parsed("--ask", asks=True), "alice")
    asked = typed(monkeypatch, "")
    with pytest.raises(NoPassword, match="empty"):
        password_of(parsed(), "alice")
    assert len(asked) == 1


def test_the_input_has_it_in_its_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ([], ["--password-stdin"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(" p w \r\nmore\n"))
        assert password_of(parsed(*given), "alice").text == " p w "
    # Said aloud, no terminal is asked.
    terminal = Terminal("typed\n")
    monkeypatch.setattr(sys, "stdin", terminal)
    assert password_of(parsed("--password-stdin"), "alice").text == "typed"


def test_a_file_has_it_in_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("pässwörd\nmore\n", encoding="utf-8")
    assert password_of(parsed("--password-file", str(path)), "a").text == "pässwörd"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be empty"),
        (b"\nx", "cannot be empty"),
        (b"\xff", "it is no text"),
        (b"a\0b", "NUL"),
        (b"x" * 1025, "at most 1024"),
        (b"x" * 5000, "at most 1024"),
    ],
)
def test_what_is_no_password_is_refused(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)
    with pytest.raises(NoPassword, match=said) as refused:
        password_in(path)
    assert str(path) in str(refused.value)
    with pytest.raises(NoPassword, match="No such file"):
        password_in(tmp_path / "nowhere")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_an_input_that_is_no_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, errors: str
) -> None:
    """How Python takes it depends on the locale."""
    given = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8", errors=errors)
    monkeypatch.setattr(sys, "stdin", given)
    with pytest.raises(NoPassword, match="is a text in UTF-8; nothing was changed"):
        password_of(parsed("--password-stdin"), "alice")


def test_one_that_is_made_is_another_each_time() -> None:
    made = {made_password() for _ in range(10)}
    assert len(made) == 10
    assert all(each.isalnum() and len(each) == 32 for each in made)
    found = password_of(parsed("--generate"), "alice")
    assert found.is_made
    assert found.text not in repr(found)


def test_no_argument_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--password", "open sesame")
    said = capsys.readouterr().err
    assert "the password is asked for, or is the first line of" in said
    assert "sesame" not in said
    with pytest.raises(SystemExit):
        parsed("--generate", "--password-stdin")
