"""Stores that are busy, break off and lose answers: no row twice, and none missing."""

import os
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from odradek.objects import cloud, retries
from odradek.objects.errors import StoreAway, StoreRefused
from odradek.pipeline.job_errors import CommitRefused
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.places import library_options
from odradek.pipeline.tables.table import FORMATS, Table
from tests.fakes.stored_objects import (
    BROKEN,
    BUSY,
    CONFLICT,
    EXPIRED,
    LATE,
    LOST,
    Fault,
    ObjectServer,
)
from tests.objects.conftest import far_server, far_store
from tests.pipeline.fake_job import JOB, range_of, run_batches, with_driver, writer
from tests.pipeline.stores import rows_in, table_at
from tests.sampling import sampled, sampled_rows

__all__ = ["far_server", "far_store"]
IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
SEEDS, SKIPPED_MAX = (20, 4) if IS_LONG else (1, 1)
MOMENT = timedelta(milliseconds=1)
BATCHES = 6
GOOD = [n for n in range(BATCHES * 10) if n % 10 != 7]
BAD = [n for n in range(BATCHES * 10) if n % 10 == 7]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(retries, "PAUSE_S_MAX", 0.01)
    # And those of the libraries.
    backoff = {"init_backoff": MOMENT, "max_backoff": MOMENT, "base": 2}
    monkeypatch.setitem(cloud._RETRY, "backoff", backoff)
    monkeypatch.setitem(library_options._RETRIES, "backoff_config.init_backoff", "1ms")
    monkeypatch.setitem(library_options._RETRIES, "backoff_config.max_backoff", "10ms")


def tables(kind: str, folder: Path) -> tuple[Table, Table]:
    return table_at(kind, JOB, folder), table_at(kind, JOB, folder, "letters")


def go_on(kind: str, folder: Path, batch: int) -> None:
    """As a sink does that finds the store away: again, with the same batch."""
    for _ in range(50):
        table, dead = tables(kind, folder)
        try:
            with_driver(table, dead, batch, None)
        except StoreAway:
            continue
        finally:
            table.close()
            dead.close()
        return
    raise AssertionError(f"batch {batch} was never committed")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_faults(
    kind: str, seed: int, far_server: ObjectServer, tmp_path: Path
) -> None:
    for batch in range(BATCHES):
        far_server.fail_at_random(0.15, f"{kind} {seed} {batch}")
        go_on(kind, tmp_path, batch)
        far_server.fail_at_random(0)
        seen = rows_in(far_server, kind, "_offset", tmp_path)
        assert seen == GOOD[: (batch + 1) * 9]
    assert rows_in(far_server, kind, "offset", tmp_path, "letters") == BAD


COMMITS = {"parquet": "/_log/", "delta": "/_delta_log/", "iceberg": "/metadata/"}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "fault", sampled([LOST, LATE, BUSY, BROKEN, CONFLICT], LOST, CONFLICT)
)
@pytest.mark.parametrize("times", sampled([1, 3, 12], 1))
def test_answer_of_the_commit_is_lost(
    kind: str, fault: str, times: int, far_server: ObjectServer, tmp_path: Path
) -> None:
    go_on(kind, tmp_path, 0)
    far_server.fail(Fault(fault, "PUT", f"rows{COMMITS[kind]}", times))
    for batch in (1, 2):
        go_on(kind, tmp_path, batch)
    far_server.fail()
    assert rows_in(far_server, kind, "_offset", tmp_path) == GOOD[:27]


PLACES = ("_log/", "_stage/", "data/", "metadata/", "rows")
# Which a table of the format writes to.
USUAL = [("parquet", "_log/"), ("delta", "_log/"), ("iceberg", "metadata/")]
USUAL += [("parquet", "_stage/"), ("delta", "rows"), ("iceberg", "data/")]


@pytest.mark.parametrize(
    ("kind", "place"), sampled_rows(product(FORMATS, PLACES), *USUAL)
)
def test_credentials_that_expire_in_the_middle(
    kind: str, place: str, far_server: ObjectServer, tmp_path: Path
) -> None:
    """One sentence, and the next run goes on as if nothing had been."""
    go_on(kind, tmp_path, 0)
    for skipped in range(SKIPPED_MAX):
        far_server.fail(Fault(EXPIRED, "PUT", place, 1000, skipped))
        try:
            go_on(kind, tmp_path, 1)
        except StoreRefused as error:
            said = str(error)
            assert f"for {far_server.where()[7:]} have expired; renew" in said
            assert "AKIASHOWN" not in said
        far_server.fail()
        assert rows_in(far_server, kind, "_offset", tmp_path) in (GOOD[:9], GOOD[:18])
    go_on(kind, tmp_path, 1)
    assert rows_in(far_server, kind, "_offset", tmp_path) == GOOD[:18]


@pytest.mark.parametrize("kind", FORMATS)
def test_the_later_of_two_drivers_is_refused(
    kind: str, far_server: ObjectServer, tmp_path: Path
) -> None:
    """Both believe that they are the only one until they commit."""
    run_batches(lambda: (table_at(kind, JOB, tmp_path), None), range(1))
    first, second = (table_at(kind, JOB, tmp_path) for _ in range(2))
    staged = [each.staging(1) for each in (first, second)]
    written = [writer(range_of(1))(each, None) for each in staged]
    commits = [Commit(JOB, 1, (), staged=each.name) for each in staged]
    first.commit(commits[0], written[0].files)
    with pytest.raises(CommitRefused, match="by another driver"):
        second.commit(commits[1], written[1].files)
    first.publish(commits[0])
    assert rows_in(far_server, kind, "_offset", tmp_path) == list(range(20))
    first.close()
    second.close()
