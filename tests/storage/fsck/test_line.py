import json
from pathlib import Path

from odradek.storage.fsck.line import (
    Total,
    json_line,
    text_lines,
    total_json,
    total_text,
)
from odradek.storage.fsck.report import Place, Report


def report() -> Report:
    made = Report(Path("data/a-0"), "partition", 1, 100, 2, 3, 0, 3)
    made.findings.damage("batch", "0.log", "wrong", Place(10, 20, 4, 6))
    made.findings.damage("log-start", "", "ahead")
    made.findings.note("gap", "0.log", "one", Place(None, None, 7, 7))
    return made


def test_text() -> None:
    assert list(text_lines(report())) == [
        "data/a-0: 1 segment, 100 bytes, 2 batches, 3 records, offsets 0 to 3:"
        " DAMAGED, 2 found, 1 note",
        "  DAMAGE 0.log, bytes 10 to 20, offsets 4 to 6: wrong [batch]",
        "  DAMAGE ahead [log-start]",
        "  note 0.log, offset 7: one [gap]",
    ]
    sound = Report(Path("data"), "directory")
    assert list(text_lines(sound)) == ["data: directory: sound"]
    sound.findings.note("stranger", "x", "left alone")
    assert next(text_lines(sound)) == "data: directory: sound, 1 note"


def test_json() -> None:
    assert json.loads(json_line(report())) == {
        "type": "partition",
        "path": "data/a-0",
        "segments": 1,
        "size": 100,
        "batches": 2,
        "records": 3,
        "logStartOffset": 0,
        "logEndOffset": 3,
        "damage": 2,
        "notes": 1,
        "findings": [
            {
                "severity": "damage",
                "code": "batch",
                "file": "0.log",
                "position": 10,
                "end": 20,
                "baseOffset": 4,
                "lastOffset": 6,
                "message": "wrong",
            },
            {"severity": "damage", "code": "log-start", "message": "ahead"},
            {
                "severity": "note",
                "code": "gap",
                "file": "0.log",
                "baseOffset": 7,
                "lastOffset": 7,
                "message": "one",
            },
        ],
    }


def test_the_total() -> None:
    total = Total()
    total.add(report())
    total.add(Report(Path("data"), "directory"))
    assert total_text(total) == (
        "total: 1 partition, 1 segment, 100 bytes, 2 batches, 3 records:"
        " DAMAGED, 2 found, 1 note"
    )
    assert json.loads(total_json(total))["damage"] == 2
