"""Rows of files, and what is wrong with those that cannot be read."""

import builtins
import csv
import io
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.testing.tables import BadFile, read_rows


def rows(path: Path, data: bytes) -> list[dict[str, Any]]:
    path.write_bytes(data)
    return [row.fields for row in read_rows(path)]


def refused(path: Path, data: bytes) -> str:
    with pytest.raises(BadFile) as error:
        rows(path, data)
    return str(error.value).replace(str(path), "IT")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a,b\n1,2\n", [{"a": "1", "b": "2"}]),
        (b"a,b\r\n1,2", [{"a": "1", "b": "2"}]),
        (b"\xef\xbb\xbfa,b\r1,\r\r", [{"a": "1", "b": None}]),
        (b'a,b\n"",\n', [{"a": "", "b": None}]),
        (b'a,b\n,""\n', [{"a": None, "b": ""}]),
        (b'a\n"say ""no"", twice"\n', [{"a": 'say "no", twice'}]),
        (b'a,b\n"1\r\n2\n","\x00"\n', [{"a": "1\r\n2\n", "b": "\x00"}]),
        (b"a\n\x00\n\n", [{"a": "\x00"}]),
        (b'"a ""b"""\n1\n', [{'a "b"': "1"}]),
        ("größe\n☃\u2028x\n".encode(), [{"größe": "☃\u2028x"}]),
        (b"a,b\n", []),
    ],
)
def test_csv(tmp_path: Path, text: bytes, expected: list[dict[str, Any]]) -> None:
    """T366: quotes, NUL, and empty against null."""
    assert rows(tmp_path / "x.csv", text) == expected


FIELDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=5))
def test_csv_is_read_as_it_is_written(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]]
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *table])
    path = tmp_path_factory.getbasetemp() / "x.csv"
    found = rows(path, text.getvalue().encode())
    assert [(row["a"], row["b"]) for row in found] == table


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a,b\n1\n", "IT, line 2 has 1 fields, and there are 2 columns"),
        (b'a\n"1\n2"\n1,2\n', "IT, line 4 has 2 fields, and there are 1 columns"),
        (b'a\n"1\n', "IT, line 2 has a quote that makes no sense"),
        (b'a\n"1"2\n', "IT, line 2 has a quote that makes no sense"),
        (b'a\n1"2\n', "IT, line 2 has a quote that makes no sense"),
        (b"", "IT has no first row with a name for each column"),
        (b"a,a\n", "IT has no first row with a name for each column"),
        (b"a,\n", "IT has no first row with a name for each column"),
        (b"a\n\xff\n", "IT is not UTF-8: byte 2"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, text: bytes, why: str) -> None:
    assert refused(tmp_path / "x.csv", text) == why


def test_json_lines(tmp_path: Path) -> None:
    text = '{"a": 1}\n\n {"b": "\u2028"} \r\n'.encode()
    assert rows(tmp_path / "x.jsonl", text) == [{"a": 1}, {"b": "\u2028"}]
    why = refused(tmp_path / "x.ndjson", b"{}\n{\n")
    assert why.startswith("IT, line 2 is not JSON: ")
    assert refused(tmp_path / "x.jsonl", b"[]") == "IT, line 1 is not a JSON object"


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pyarrow.table({"id": [1, None], "data": [b"\xff", b""]})
    pyarrow.parquet.write_table(table, path)
    found = read_rows(path)
    assert [row.fields for row in found] == [
        {"id": 1, "data": b"\xff"},
        {"id": None, "data": b""},
    ]
    assert found[1].place == f"{path}, row 2"
    assert refused(path, b"no").startswith("IT is no Parquet: ")


def test_parquet_without_pyarrow_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = builtins.__import__

    def missing(name: str, *others: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return found(name, *others)

    monkeypatch.setattr(builtins, "__import__", missing)
    why = refused(tmp_path / "x.parquet", b"")
    assert why == "IT cannot be read without pyarrow: pip install pyarrow"


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,customer\n1,2\n")
    (row,) = read_rows(tmp_path / "x.csv")
    assert row.value("customer") == "2"
    with pytest.raises(BadFile, match=r"x\.csv, line 2 has no column 'custmer'; did"):
        row.value("custmer")
    with pytest.raises(BadFile, match="has no column 'x'; it has id, customer"):
        row.value("x")


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadFile, match=f"{name} cannot be read: No such file"):
        read_rows(tmp_path / name)


def test_a_name_that_says_nothing(tmp_path: Path) -> None:
    why = "x.xlsx is none of .jsonl, .ndjson, .csv, .parquet"
    with pytest.raises(BadFile, match=why.replace(".", r"\.")):
        read_rows(tmp_path / "x.xlsx")
