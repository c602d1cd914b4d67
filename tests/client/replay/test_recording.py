"""The file of a recording, and what is said of one that is none."""

import json
from pathlib import Path

import pytest

from odradek.client.replay import recording as form
from odradek.client.replay.recording import Answered, Asked, BadRecording, Recording

HEAD = form.head_line("1.2", 5)
EVENTS = [
    Asked(1, 1, "client", "Produce", b"\x00\xffask"),
    Asked(2, 2, None, "Fetch", b""),
    Answered(1, b"\x80answer"),
    Answered(2, None, form.UNANSWERED),
    Asked(3, 1, "", "99", b"open at the end"),
]


def written(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def whole() -> list[bytes]:
    return [HEAD, *map(form.event_line, EVENTS), form.end_line(3)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path / "r", *whole()))
    assert (recording.began_ms, recording.calls) == (5, 3)
    assert list(recording.events()) == EVENTS


def test_a_recording_that_ends_anywhere_before_its_end_is_refused(
    tmp_path: Path,
) -> None:
    data = b"".join(whole())
    for size in range(len(data)):
        path = written(tmp_path / "r", data[:size])
        with pytest.raises(BadRecording, match="not a whole recording"):
            Recording(path)


def test_one_of_a_newer_odradek_is_refused(tmp_path: Path) -> None:
    head = {"odradek_recording": 2, "odradek": "9.0", "began_ms": 1}
    path = written(tmp_path / "r", json.dumps(head).encode() + b"\n")
    with pytest.raises(BadRecording) as refused:
        Recording(path)
    assert str(refused.value) == (
        f"{path} has recording format 2, written by odradek 9.0; "
        "this one reads formats up to 1"
    )


def test_one_that_is_only_begun_is_told_from_none(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match=r"there is no recording at .*r$"):
        Recording(tmp_path / "r")
    (tmp_path / "r.partial").touch()
    with pytest.raises(BadRecording, match=r"there is only r\.partial"):
        Recording(tmp_path / "r")
    with pytest.raises(BadRecording, match="cannot be read: Is a directory"):
        Recording(tmp_path)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([b"\x00\n"], "line 1: it is not an object in JSON"),
        ([b"[]\n"], "line 1: it is not an object in JSON"),
        ([b"{}\n"], "line 1: no recording begins so"),
        ([b'{"odradek_recording": true}\n'], "line 1: no recording begins so"),
        ([b'{"odradek_recording": 1}\n'], "line 1: began_ms is not a whole number"),
        ([HEAD, b'{"call": 1}\n'], "line 2: outcome is missing"),
        ([HEAD, b'{"call": "1", "answer": ""}\n'], "'1' is not a whole number"),
        ([HEAD, b'{"call": 1, "outcome": "lost"}\n'], "'lost' is not an outcome"),
        ([HEAD, b'{"call": 1, "answer": "AA=A"}\n'], "line 2: it is not base64"),
        ([HEAD, b'{"call": 1, "answer": 7}\n'], "line 2: "),
        ([HEAD, b'{"call": 1, "answer": ""}\n'], "nobody has asked call 1"),
        ([*whole()[:3], form.end_line(7)], "it has 2 of 7 calls"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, lines: list[bytes], why: str
) -> None:
    path = written(tmp_path / "r", *lines)
    with pytest.raises(BadRecording) as refused:
        Recording(path)
    assert why in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_line_without_an_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "_LINE_SIZE_MAX", 1000)
    path = written(tmp_path / "r", HEAD, b" " * 10_000)
    with pytest.raises(BadRecording, match="line 2: it is longer than any request"):
        Recording(path)
