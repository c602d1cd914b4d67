from pathlib import Path

import pyarrow.parquet as pq

from odradek.pipeline.audit.audit import Audit, Finding
from odradek.pipeline.audit.report import render, write_report
from tests.pipeline.audit.test_audit import audit, flip
from tests.pipeline.log_directories import log_file, make_directory, small_batches


def damaged(root: Path) -> Audit:
    make_directory(root, small_batches(20))
    flip(log_file(root, 0), 70)
    return audit(root)


def test_the_table_has_a_line_for_each_partition(tmp_path: Path) -> None:
    lines = list(render(damaged(tmp_path)))
    assert lines[0].split() == [
        *("PARTITION", "SEGMENTS", "BATCHES", "RECORDS", "BYTES"),
        *("OFFSETS", "MISSING", "CODECS", "PRODUCERS", "DAMAGE"),
    ]
    assert lines[1].startswith("topic-0")
    assert "2 to 39" in lines[1]
    assert lines[2].startswith("DAMAGE topic-0: 00000000000000000000.log, bytes 0 to")
    assert lines[3].startswith("total: 1 partition, 19 batches, 38 records, ")
    assert lines[3].endswith("DAMAGED, 1 found")


def test_a_sound_one_says_so(tmp_path: Path) -> None:
    make_directory(tmp_path, small_batches(3))
    assert list(render(audit(tmp_path)))[-1].endswith("bytes: sound")


def test_many_findings_are_counted(tmp_path: Path) -> None:
    finding = Finding("t", 0, True, None, None, None, None, "bad")
    lines = list(render(Audit([], [finding] * 60, [])))
    assert "... and 10 more; --report writes them all" in lines


def test_parquet_has_it_all(tmp_path: Path) -> None:
    found = damaged(tmp_path / "data")
    written = write_report(found, tmp_path / "report")
    tables = {path.stem: pq.read_table(path).to_pylist() for path in written}
    assert [len(tables[name]) for name in ("partitions", "segments", "findings")] == [
        1,
        2,
        1,
    ]
    assert tables["partitions"][0]["records"] == 38
    assert tables["partitions"][0]["none_batches"] == 19
    assert tables["findings"][0]["is_damage"] is True
    assert tables["findings"][0]["message"] == "the checksum is wrong"
    assert [row["segment"] for row in tables["segments"]] == [0, 20]
    assert write_report(found, tmp_path / "report") == written
