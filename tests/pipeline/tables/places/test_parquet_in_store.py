"""A folder of Parquet objects: what readers see, and who may commit."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from odradek.objects.errors import StoreRefused
from odradek.pipeline.job_errors import CommitRefused, JobError
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.parquet import LOG_KEPT
from odradek.pipeline.tables.places.parquet_in_store import ParquetInStore
from odradek.pipeline.tables.places.store_place import StorePlace, open_store_place
from tests.fakes.stored_objects import ObjectServer
from tests.pipeline.fake_job import (
    JOB,
    SCHEMA,
    driver,
    range_of,
    run_batches,
    writer,
)
from tests.pipeline.stores import rows_in


def opened(job: str = JOB) -> ParquetInStore:
    return ParquetInStore(open_store_place("s3://lake/jobs/rows", {}), job)


def filled(count: int) -> ParquetInStore:
    run_batches(lambda: (opened(), None), range(count))
    return opened()


def rows(server: ObjectServer) -> list[int]:
    return rows_in(server, "parquet", "_offset", Path())


def test_readers_see_nothing_but_committed_files(server: ObjectServer) -> None:
    table = filled(2)
    assert len(table.files()) == 4
    writer(range_of(2))(table.staging(2), None)
    assert rows(server) == list(range(20))


def test_committed_files_appear_when_the_next_driver_starts(
    server: ObjectServer,
) -> None:
    table = filled(1)
    staged = table.staging(1)
    written = writer(range_of(1))(staged, None)
    table.commit(Commit(JOB, 1, (), staged=staged.name), written.files)
    assert rows(server) == list(range(10))
    # It died in the middle of the copies.
    manifest = json.loads(server.content(f"jobs/rows/_log/{1:020d}.json"))
    source, name = manifest["files"][0]
    server.put(f"jobs/rows/{name}", server.content(f"jobs/rows/{source}"))
    for _ in range(2):
        driver(opened()).recover()
        assert rows(server) == list(range(20))
    assert server.names("jobs/rows/_stage") == []


def test_the_later_of_two_drivers_is_refused(server: ObjectServer) -> None:
    filled(1)
    first, second = opened(), opened()
    for table in (first, second):
        assert table.last_commit(JOB) is not None
    staged = [table.staging(1) for table in (first, second)]
    written = [writer(range_of(1))(each, None) for each in staged]
    first.commit(Commit(JOB, 1, (), staged=staged[0].name), written[0].files)
    with pytest.raises(CommitRefused, match="another driver"):
        second.commit(Commit(JOB, 1, (), staged=staged[1].name), written[1].files)
    driver(opened()).recover()
    assert rows(server) == list(range(20))
    assert server.names("jobs/rows/_stage") == []


def test_driver_that_was_held_up_until_its_batch_was_folded(
    server: ObjectServer,
) -> None:
    filled(2)
    slow, fast = opened(), opened()
    assert slow.last_commit(JOB) is not None
    staged = slow.staging(2)
    written = writer(range_of(2))(staged, None)
    for batch in range(2, LOG_KEPT + 10):
        fast.commit(Commit(JOB, batch, ()), [])
        fast.publish(Commit(JOB, batch, ()))
    kept = server.names("jobs/rows/_log")
    with pytest.raises(CommitRefused, match="another driver"):
        slow.commit(Commit(JOB, 2, (), staged=staged.name), written.files)
    assert server.names("jobs/rows/_log") == kept
    last = opened().last_commit(JOB)
    assert last is not None
    assert last.batch == LOG_KEPT + 9


def test_folder_of_something_else(server: ObjectServer) -> None:
    server.put("jobs/rows/mine.txt", b"")
    with pytest.raises(JobError, match=r"not a table of odradek.*mine.txt"):
        opened().create(SCHEMA)


def test_table_of_another_job(server: ObjectServer) -> None:
    filled(1)
    other = opened("other")
    with pytest.raises(JobError, match="a Parquet table has one job"):
        other.create(SCHEMA)
    assert other.last_commit("other") is None


def test_columns_come_and_go(server: ObjectServer) -> None:
    filled(1)
    wider = SCHEMA.append(pa.field("more", pa.string()))
    with pytest.raises(JobError, match="another schema"):
        opened().create(wider)
    assert "more" in opened().create(wider, evolves=True).names
    assert "more" in opened().create(SCHEMA, evolves=True).names


def test_store_that_forgets_conditions(server: ObjectServer) -> None:
    server.forget_conditions()
    with pytest.raises(StoreRefused, match="ignores conditions"):
        opened().create(SCHEMA)
    assert not opened().exists()


def test_file_of_the_table_is_opened(server: ObjectServer, place: StorePlace) -> None:
    table = filled(1)
    assert table.open(table.files()[0]).read(4) == b"PAR1"
