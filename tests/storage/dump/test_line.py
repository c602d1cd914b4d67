import json
from pathlib import Path

from odradek.storage.dump.line import json_lines, record_words, text_lines
from odradek.storage.dump.row import Row, RowKind, damage, entry, note

PATH = Path("/d/00000000000000000000.log")


def text(row: Row) -> list[str]:
    return list(text_lines(PATH, row))


def test_json_says_what_it_is_and_of_which_file() -> None:
    [line] = json_lines(PATH, entry(offset=1, position=2))
    assert json.loads(line) == {
        "type": "entry",
        "file": str(PATH),
        "offset": 1,
        "position": 2,
    }


def test_words_for_every_sort_of_row() -> None:
    head = Row(RowKind.FILE, {"file": str(PATH), "baseOffset": 7})
    assert text(head) == [f"Dumping {PATH}", "Log starting offset: 7"]
    assert text(Row(RowKind.FILE, {"file": "x"})) == ["Dumping x"]
    assert text(entry(a=None, b=True, c="x")) == ["a: none b: true c: x"]
    assert text(note("why")) == ["Note: why"]
    assert text(damage(3, 9, "why")) == [f"DAMAGE in {PATH.name}, bytes 3 to 9: why"]


def test_records_stand_below_their_batch() -> None:
    row = Row(RowKind.BATCH, {"count": 1, "records": [{"offset": 0, "keySize": -1}]})
    assert text(row) == ["count: 1", "| offset: 0 keySize: -1"]


def test_null_is_left_out_and_a_coordinators_tombstone_is_named() -> None:
    assert record_words({"offset": 1, "key": None, "payload": "v"}) == (
        "offset: 1 payload: v"
    )
    key = {"type": "2", "data": {"group": "g"}}
    assert record_words({"key": key, "payload": None}) == (
        'key: {"type":"2","data":{"group":"g"}} payload: <DELETE>'
    )


def test_no_value_begins_a_line_or_speaks_to_the_terminal() -> None:
    [line] = text(entry(value="a\nb\x1b[31m", other={"x": "\x9b"}, raw={"hex": "00"}))
    assert line == 'value: a\\nb\\x1b[31m other: {"x":"\\x9b"} raw: 0x00'
