"""``odradek pipeline compact``: arguments, and what it says."""

import json
from pathlib import Path

import pytest

from odradek.pipeline.commands import compact
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.table_readers import READERS, rows_of


def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    location = str(tmp_path / "t")
    run_batches(lambda: (open_table("parquet", location, JOB), None), range(3))
    assert compact.command([location]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("6 files, now 1 (")
    step = json.loads(said.err)
    assert (step["step"], step["records"], step["files_after"]) == ("compact", 30, 1)
    assert compact.command([location, "--file-size", "1k"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert compact.command([location, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["table"], found["filesBefore"], found["rows"]) == (location, 1, 0)
    assert rows_of("pandas", tmp_path / "t", "_offset") == list(range(30))


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compact.command([str(tmp_path)]) == 1
    assert "is not a table" in capsys.readouterr().err
    file = tmp_path / "rows.txt"
    file.touch()
    assert compact.command([str(file)]) == 1
    assert f"{file}: Not a directory" in capsys.readouterr().err
    assert compact.command([str(tmp_path), "--catalog", "x"]) == 2
    assert "write it like" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        compact.command([str(tmp_path), "--file-sise", "1m"])
    assert "did you mean --file-size?" in capsys.readouterr().err


def test_snapshots_of_an_iceberg_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    location = str(tmp_path / "t")
    run_batches(lambda: (open_table("iceberg", location, JOB), None), range(5))
    assert compact.command([location, "--keep-snapshots", "0"]) == 2
    assert compact.command([location, "--keep-snapshots", "2"]) == 0
    first = json.loads(capsys.readouterr().err.splitlines()[-2])
    assert (first["step"], first["count"]) == ("expired snapshots", 4)
    run_batches(lambda: (open_table("iceberg", location, JOB), None), range(5, 7))
    for reader in READERS["iceberg"]:
        assert rows_of(reader, tmp_path / "t", "_offset") == list(range(70))
    other = str(tmp_path / "p")
    run_batches(lambda: (open_table("parquet", other, JOB), None), range(1))
    assert compact.command([other, "--keep-snapshots", "2"]) == 1
    assert "a Parquet table" in capsys.readouterr().err


@pytest.mark.usefixtures("shared_spark")
@pytest.mark.parametrize("kind", FORMATS)
def test_spark_rewrites_the_files(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    location = tmp_path / "t"
    run_batches(lambda: (open_table(kind, str(location), JOB), None), range(3))
    assert compact.command([str(location), "--master", "local[2]"]) == 0
    assert capsys.readouterr().out.startswith("6 files, now 1 (")
    for reader in READERS[kind]:
        assert rows_of(reader, location, "_offset") == list(range(30)), reader


@pytest.mark.usefixtures("shared_spark")
def test_a_torn_file_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that something else has written there, or has damaged."""
    location = tmp_path / "t"
    run_batches(lambda: (open_table("iceberg", str(location), JOB), None), range(3))
    torn = min(location.glob("data/*/*.parquet"))
    torn.write_bytes(torn.read_bytes()[:100])
    for options in [], ["--master", "local[2]"]:
        assert compact.command([str(location), *options]) == 1
        said = capsys.readouterr().err
        assert said.startswith("odradek pipeline compact: ")
        assert said.count("\n") == 1
        assert torn.name in said
