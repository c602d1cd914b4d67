import io
import json
import logging
from pathlib import Path

import pytest

from odradek.broker.runtime.logs import JSON, configure_logs
from odradek.broker.security.login.login_audit import TOLD_MAX, told
from tests.fakes.login import login_broker


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ("alice", "alice"),
        ("grüße", "grüße"),
        ("a\nb\x1b[31m\0", r"a\nb\x1b[31m\x00"),
        ("\u2028\u202e", r"\u2028\u202e"),
        ("x" * 300, "x" * (TOLD_MAX - 3) + "..."),
    ],
)
def test_what_a_client_says_stays_on_its_line(sent: str, line: str) -> None:
    """A10"""
    assert told(sent) == line


def test_escapes_are_cut_too() -> None:
    assert len(told("\n" * TOLD_MAX)) == TOLD_MAX


async def test_a_login_is_one_object_a_line_and_has_no_password(
    tmp_path: Path,
) -> None:
    """A10"""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    configure_logs("info", stream, form=JSON)
    try:
        async with login_broker(tmp_path) as broker:
            await broker.connect().log_in("alice", "secret")
            await broker.connect("192.0.2.7").log_in("bo\n\x1b[2Jb", "marker")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    good, bad = (json.loads(line) for line in stream.getvalue().splitlines())
    assert good["principal"] == "User:alice"
    assert (good["mechanism"], good["listener"]) == ("PLAIN", "SASL_PLAINTEXT")
    assert bad["user"] == r"bo\n\x1b[2Jb"
    assert (bad["address"], bad["refused"]) == ("192.0.2.7", "wrong name or password")
    assert "marker" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
