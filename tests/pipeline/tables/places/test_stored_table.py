"""Tables in stores that are read: which files they have, and what is none."""

from pathlib import Path
from typing import Any, cast

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.places.stored_table import KINDS, StoredTable
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.stores import URL, table_at

__all__ = ["far_server", "far_store"]
NOBODY = cast("Any", None)  # Spark is not needed to list files


@pytest.mark.parametrize("kind", KINDS)
def test_files_in_the_order_of_their_batches(
    kind: str, far_server: ObjectServer, tmp_path: Path
) -> None:
    run_batches(lambda: (table_at(kind, JOB, tmp_path), None), range(3))
    found = StoredTable(kind, f"{URL}/rows").files(NOBODY)
    assert len({file.name for file in found}) == 6
    place = f"{URL}/rows/"
    sizes = {
        file.path: len(far_server.content(file.path.removeprefix("s3://lake/")))
        for file in found
    }
    assert all(file.path.startswith(place) for file in found)
    assert [file.size for file in found] == list(sizes.values())
    if kind == "iceberg":  # which knows of commits, and of no times
        assert [file.commit for file in found] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_no_table(kind: str, far_server: ObjectServer) -> None:
    with pytest.raises(JobError, match=r"s3://lake/jobs/none (is not|has no)"):
        StoredTable(kind, f"{URL}/none").files(NOBODY)
