"""Every file that Apache Kafka's own dump tool was asked about, shown by ours."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.dump.dump_file import FileKind, dump_file, kind_of, known_names
from odradek.storage.dump.line import json_lines, record_words, text_lines
from odradek.storage.dump.log_dump import Depth
from odradek.storage.dump.record_decoder import decoder_of
from odradek.storage.dump.row import Row, RowKind
from odradek.storage.files.read_only_files import ReadOnlyFiles
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
SHOWN = (RowKind.BATCH, RowKind.ENTRY)
# Kafka's tool shows the first of the zeros that it preallocated as an entry.
PREALLOCATED = ({"position": 0}, {"timestamp": 0})
CHECKPOINT = Path("/d/recovery-point-offset-checkpoint")


def on_disk(case: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    expected = json.loads((case / "expected.json").read_text())
    for directory, files in expected["on_disk"].items():
        for name, entries in files.items():
            yield case / "log-dir" / directory / name, entries


def depth_of(path: Path) -> Depth:
    if path.parent.name.startswith("__consumer_offsets"):
        return Depth(records=True, data=True, decoder=decoder_of("__consumer_offsets"))
    if path.parent.name.startswith("__transaction_state"):
        return Depth(records=True, data=True, decoder=decoder_of("__transaction_state"))
    return Depth(records=True)


def as_kafka_shows(row: Row, expected: dict[str, Any]) -> dict[str, Any]:
    """Kafka's output was parsed: a record is fields, or a line of text, or left out."""
    fields = dict(row.fields)
    records = fields.pop("records", [])
    if "records" not in expected:
        return fields
    assert isinstance(records, list)
    lines = [
        record_words(record) if isinstance(line, str) else as_parsed(record)
        for record, line in zip(records, expected["records"], strict=True)
    ]
    return {**fields, "records": lines}


def as_parsed(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "headerKeys": "[" + ",".join(record["headerKeys"]) + "]"}


def is_preallocated(entry: dict[str, Any], path: Path) -> bool:
    relative = {
        name: value - (int(path.stem) if name == "offset" else 0)
        for name, value in entry.items()
        if isinstance(value, int)
    }
    return any(relative == {**zeros, "offset": 0} for zeros in PREALLOCATED)


def cases() -> list[Path]:
    return sorted(path.parent for path in GOLDEN.glob("*/expected.json"))


def test_golden_cases_are_there() -> None:
    assert len(cases()) >= 29


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_shows_what_kafka_shows(case: Path) -> None:
    for path, entries in on_disk(case):
        rows = list(dump_file(ReadOnlyFiles(), path, depth_of(path)))
        # A line that is no entry says that Kafka's tool gave up there.
        known = [
            entry
            for entry in entries
            if "line" not in entry and not is_preallocated(entry, path)
        ]
        shown = [row for row in rows if row.kind in SHOWN]
        if len(known) == len(entries):
            assert len(shown) == len(known), path
        pairs = zip(shown, known, strict=False)
        assert [as_kafka_shows(row, entry) for row, entry in pairs] == known, path


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_what_kafka_calls_invalid_is_damage(case: Path) -> None:
    for path, entries in on_disk(case):
        rows = list(dump_file(ReadOnlyFiles(), path, depth_of(path)))
        damaged = {row.fields["position"] for row in rows if row.kind is RowKind.DAMAGE}
        invalid = {
            entry["position"] for entry in entries if entry.get("isvalid") is False
        }
        assert invalid <= damaged, path
        if any("invalid bytes" in entry.get("line", "") for entry in entries):
            assert damaged, path


def test_the_file_row_comes_first() -> None:
    path = GOLDEN / "plain-size-roll" / "log-dir" / "plain-0" / f"{36:020d}.log"
    if not path.exists():
        path = next(path.parent.glob("*.log"))
    first = next(dump_file(ReadOnlyFiles(), path, Depth()))
    assert first.kind is RowKind.FILE
    assert first.fields == {
        "file": str(path),
        "kind": "log",
        "size": path.stat().st_size,
        "baseOffset": int(path.stem),
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("00000000000000000000.log", FileKind.LOG),
        ("00000000000000000000.log.deleted", FileKind.LOG),
        ("00000000000000000012.timeindex.swap", FileKind.TIME_INDEX),
        ("00000000000000000012-0000000001.checkpoint", FileKind.LOG),
        ("leader-epoch-checkpoint", FileKind.EPOCH_CHECKPOINT),
        ("leader-epoch-checkpoint.tmp", FileKind.EPOCH_CHECKPOINT),
        ("README.md", None),
        ("catalog.db", None),
        ("log", None),
    ],
)
def test_a_name_says_what_a_file_is(name: str, kind: FileKind | None) -> None:
    assert kind_of(name) is kind


def test_known_names_are_named() -> None:
    assert "*.txnindex" in known_names()
    assert "partition.metadata" in known_names()


def test_an_unknown_file_is_refused() -> None:
    with pytest.raises(ValueError, match="not the name of a file in a log"):
        next(dump_file(FakeFiles(), Path("/d/notes.txt"), Depth()))


def test_a_text_file_that_cannot_be_one_is_not_read() -> None:
    files = FakeFiles()
    files.mkdir(CHECKPOINT.parent)
    files.write_atomic(CHECKPOINT, bytes(65 << 20))
    [_, row] = dump_file(files, CHECKPOINT, Depth())
    assert row.kind is RowKind.DAMAGE
    assert "too many" in str(row.fields["reason"])


def test_an_index_without_a_base_offset_in_its_name_is_relative() -> None:
    files = FakeFiles()
    files.mkdir(Path("/d"))
    files.write_atomic(Path("/d/copy.index"), bytes([0, 0, 0, 5, 0, 0, 1, 0]))
    rows = list(dump_file(files, Path("/d/copy.index"), Depth()))
    assert {"offset": 5, "position": 256} in [row.fields for row in rows]
    assert any("relative" in str(row.fields.get("reason")) for row in rows)


@settings(max_examples=200)
@given(data=st.data())
def test_no_byte_of_any_file_makes_it_fail(data: st.DataObject) -> None:
    files = FakeFiles()
    files.copy_in(GOLDEN / "transaction-state" / "log-dir", Path("/d"))
    paths = [path for path in files.paths() if kind_of(path.name) is not None]
    path = data.draw(st.sampled_from(paths))
    for _ in range(data.draw(st.integers(1, 3))):
        size = files.size(path)
        if not size or data.draw(st.booleans()):
            files.extend(path, data.draw(st.binary(max_size=100)))
        elif data.draw(st.booleans()):
            position = data.draw(st.integers(0, size - 1))
            files.flip(path, position, data.draw(st.integers(0, 7)))
        else:
            files.cut(path, by=data.draw(st.integers(1, size)))
    for row in dump_file(files, path, depth_of(path)):
        assert [*json_lines(path, row), *text_lines(path, row)]
