"""Job files whose table lies in a store."""

from pathlib import Path

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import read_job_file
from tests.pipeline.jobs.test_job_file import job_file

STORED = """name = "j"
checkpoint = "chk"
source.topics = ["t"]
[table]
path = "s3://lake/rows"
"""


def test_table_in_a_store(tmp_path: Path) -> None:
    text = STORED + 'store = { region = "r" }\n'
    job = read_job_file(job_file(tmp_path, text))
    assert (job.table_path, job.store) == ("s3://lake/rows", {"region": "r"})
    assert job.dead_letters == "s3://lake/rows-dead-letters"
    assert job.checkpoint == str(tmp_path / "chk")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('checkpoint = "chk"', "", "checkpoint: Spark keeps it in a file system"),
        ('"chk"', '"s3://lake/chk"', "checkpoint: Spark keeps it in a file system"),
        ("[table]", '[table]\ncompact_every = "1h"', "cannot be compacted"),
    ],
)
def test_what_a_store_cannot_do(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match=said):
        read_job_file(job_file(tmp_path, STORED.replace(before, after)))
