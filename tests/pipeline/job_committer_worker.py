"""A driver without Spark, in a process of its own: to be killed at any moment.

``python -m tests.pipeline.job_committer_worker FORMAT FOLDER BATCHES``: goes on
from the table's last commit, as a new driver does, and ends when all is committed.
FOLDER may be the URL of a store; the variable CATALOG names a file for Iceberg's.
"""

import os
import sys

from odradek.pipeline.tables.table import open_table
from tests.pipeline.fake_job import JOB, LETTERS, SCHEMA, driver, range_of, writer


def main(kind: str, folder: str, batches: int) -> None:
    catalog = os.environ.get("CATALOG", "")
    options = {"type": "sql", "uri": f"sqlite:///{catalog}"} if catalog else {}
    table = open_table(kind, f"{folder}/rows", JOB, options)
    dead = open_table(kind, f"{folder}/letters", JOB, options)
    table.create(SCHEMA)
    dead.create(LETTERS)
    committer = driver(table, dead)
    last = committer.recover()
    # As Spark does, which may not know of its last commit.
    first = 0 if last is None else last.batch
    print("begun", flush=True)
    for batch in range(first, batches):
        planned = range_of(batch)
        committer.run(batch, planned, writer(planned))
        print(batch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
