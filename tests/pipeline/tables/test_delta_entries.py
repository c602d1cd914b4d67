"""Entries that a driver adds to a Delta table's log itself, and when it does not."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from odradek.pipeline.job_errors import CommitRefused
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.delta import DeltaTableOfJob
from odradek.pipeline.tables.places.place import LocalPlace
from tests.pipeline.fake_job import JOB, SCHEMA, driver, range_of, writer
from tests.pipeline.table_readers import READERS, rows_of


class Driver:
    """One that has committed some batches, and goes on."""

    def __init__(self, folder: Path, job: str = JOB) -> None:
        self.table = DeltaTableOfJob(folder, job)
        self.table.create(SCHEMA)
        self._committer = driver(self.table, job=job)
        last = self._committer.recover()
        self.next = 0 if last is None else last.batch + 1

    def run(self, count: int = 1) -> None:
        for batch in range(self.next, self.next + count):
            planned = range_of(batch)
            self._committer.run(batch, planned, writer(planned))
        self.next += count


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "t"


@pytest.fixture
def begun(folder: Path) -> Driver:
    """A driver of a table with two batches, which knows the table."""
    first = Driver(folder)
    first.run(2)
    return first


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that a table was read whole."""
    found: list[str] = []
    load = DeltaTableOfJob._table

    def counted(self: DeltaTableOfJob) -> DeltaTable:
        found.append(str(self.location))
        return load(self)

    monkeypatch.setattr(DeltaTableOfJob, "_table", counted)
    return found


def by_hand(folder: Path, number: int = 1000) -> None:
    rows = pa.table({"n": [number], "_offset": [number]}, schema=SCHEMA)
    write_deltalake(folder, rows, mode="append")


def own_rows(folder: Path) -> list[int]:
    return [n for n in rows_of("deltalake", folder, "_offset") if n < 1000]


def test_table_is_read_once(begun: Driver, folder: Path, loads: list[str]) -> None:
    begun.run(30)
    assert not loads
    for reader in READERS["delta"]:
        assert rows_of(reader, folder, "_offset") == list(range(320)), reader
    found = DeltaTable(folder)
    assert found.transaction_version(JOB) == 31
    assert len(found.history()) == 33


def test_entries_of_others_are_read(
    begun: Driver, folder: Path, loads: list[str]
) -> None:
    other = Driver(folder, "other")
    other.run(2)
    loads.clear()
    for number in range(4):
        by_hand(folder, 1000 + number)
        other.run()
        begun.run()
    assert not loads
    assert len(own_rows(folder)) == 6 * 20
    found = DeltaTable(folder)
    versions = found.transaction_version(JOB), found.transaction_version("other")
    assert versions == (5, 5)


def test_somebody_is_faster(
    begun: Driver, folder: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number is taken between the look and the entry: then it is the next one."""
    put = LocalPlace.put_new

    def late(self: LocalPlace, text: str, *parts: str) -> bool:
        monkeypatch.setattr(LocalPlace, "put_new", put)
        by_hand(folder)
        return put(self, text, *parts)

    monkeypatch.setattr(LocalPlace, "put_new", late)
    begun.run()
    assert not loads
    assert rows_of("deltalake", folder, "_offset") == [*range(30), 1000]


def test_second_driver_of_the_job_is_refused(begun: Driver, folder: Path) -> None:
    second = Driver(folder)
    begun.run()
    with pytest.raises(CommitRefused):
        second.table.commit(Commit(JOB, 2, ()), [])
    second.run(0)
    assert own_rows(folder) == list(range(30))


def test_second_driver_is_faster(
    begun: Driver, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, put = Driver(folder), LocalPlace.put_new

    def late(self: LocalPlace, text: str, *parts: str) -> bool:
        monkeypatch.setattr(LocalPlace, "put_new", put)
        begun.run()
        return put(self, text, *parts)

    monkeypatch.setattr(LocalPlace, "put_new", late)
    with pytest.raises(CommitRefused):
        second.run()
    assert own_rows(folder) == list(range(30))


def another_column(folder: Path) -> None:
    kind = PrimitiveType("string")
    DeltaTable(folder).alter.add_columns([Field("more", kind)])


def a_property(folder: Path) -> None:
    properties = {"delta.enableChangeDataFeed": "true"}
    DeltaTable(folder).alter.set_table_properties(properties)


def a_checkpoint(folder: Path) -> None:
    by_hand(folder)
    DeltaTable(folder).create_checkpoint()


def torn_entry(folder: Path) -> None:
    version = DeltaTable(folder).version() + 1
    (folder / "_delta_log" / f"{version:020d}.json").write_text('{"commitInfo":{"x')


@pytest.mark.parametrize("change", [another_column, a_property, a_checkpoint])
def test_what_somebody_changes_is_read_anew(
    change: Callable[[Path], None], begun: Driver, folder: Path, loads: list[str]
) -> None:
    change(folder)
    begun.run(2)
    assert loads
    assert own_rows(folder) == list(range(40))


def test_torn_entry_is_not_built_upon(begun: Driver, folder: Path) -> None:
    torn_entry(folder)
    with pytest.raises(Exception, match=r"(?i)json|log|entr"):
        begun.run()


def cleaned(folder: Path) -> None:
    """All entries but the newest are gone, as when a driver was held up for days."""
    table = DeltaTable(folder)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    for number in range(3):
        by_hand(folder, 1000 + number)
    table = DeltaTable(folder)
    table.create_checkpoint()
    table.cleanup_metadata()
    assert len(list((folder / "_delta_log").glob("*.json"))) == 1


def test_log_was_cleaned_meanwhile(begun: Driver, folder: Path) -> None:
    cleaned(folder)
    begun.run(2)
    assert own_rows(folder) == list(range(40))


def test_log_is_cleaned_in_the_last_moment(
    begun: Driver, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number is free again, and the entry would be in no state of the table."""
    put = LocalPlace.put_new

    def late(self: LocalPlace, text: str, *parts: str) -> bool:
        monkeypatch.setattr(LocalPlace, "put_new", put)
        cleaned(folder)
        return put(self, text, *parts)

    monkeypatch.setattr(LocalPlace, "put_new", late)
    begun.run(3)
    assert own_rows(folder) == list(range(50))


def test_checkpoint_behind_an_own_entry_is_nothing_to_fear(
    begun: Driver, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = LocalPlace.put_new

    def early(self: LocalPlace, text: str, *parts: str) -> bool:
        monkeypatch.setattr(LocalPlace, "put_new", put)
        was_put = put(self, text, *parts)
        DeltaTable(folder).create_checkpoint()
        return was_put

    monkeypatch.setattr(LocalPlace, "put_new", early)
    begun.run(2)
    assert own_rows(folder) == list(range(40))


def test_another_table_in_its_place(begun: Driver, folder: Path) -> None:
    folder.rename(folder.with_name("gone"))
    second = Driver(folder)
    second.run(2)
    assert begun.table.last_commit(JOB) == second.table.last_commit(JOB)


def test_checkpoints_come_as_the_table_says(folder: Path) -> None:
    first = Driver(folder)
    DeltaTable(folder).alter.set_table_properties({"delta.checkpointInterval": "10"})
    first.run(25)
    log = folder / "_delta_log"
    found = sorted(int(p.name[:20]) for p in log.glob("*.checkpoint.parquet"))
    assert [b - a for a, b in pairwise(found)] == [10]
    assert own_rows(folder) == list(range(250))


def test_log_is_cleaned_as_the_table_says(folder: Path) -> None:
    first = Driver(folder)
    properties = {
        "delta.checkpointInterval": "10",
        "delta.logRetentionDuration": "interval 0 days",
    }
    DeltaTable(folder).alter.set_table_properties(properties)
    first.run(45)
    assert len(list((folder / "_delta_log").glob("*.json"))) < 20
    assert own_rows(folder) == list(range(450))


def test_checkpoint_that_fails_stops_nobody(
    begun: Driver,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from deltalake.exceptions import DeltaError

    def full(self: DeltaTable) -> None:
        raise DeltaError("the disk is full")

    DeltaTable(folder).alter.set_table_properties({"delta.checkpointInterval": "2"})
    monkeypatch.setattr(DeltaTable, "create_checkpoint", full)
    begun.run(5)
    assert own_rows(folder) == list(range(70))
    assert "its log was not summed up: the disk is full" in caplog.text
