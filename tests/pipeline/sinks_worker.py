"""Several sinks in one driver, in a process of its own: to be killed at any moment.

``python -m tests.pipeline.sinks_worker JOB.toml ...``: one Spark, in which each
job has a thread until it has written what there is. What a job says is in ``JOB.err``.
"""

import sys
import threading
from pathlib import Path

from odradek.pipeline.jobs.job_file import read_job_file
from odradek.pipeline.sink.sink import Sink
from odradek.pipeline.spark.session import SparkOfCommand
from odradek.terminal.progress import Progress


def run(path: Path, spark: SparkOfCommand) -> None:
    with path.with_suffix(".err").open("a") as said:
        sink = Sink(read_job_file(path), spark.session, progress=Progress(said))
        try:
            sink.prepare()
            sink.run(once=True)
        finally:
            sink.close()


def main(paths: list[Path]) -> None:
    job = read_job_file(paths[0])
    with SparkOfCommand("sinks", job.master, job.conf) as spark:
        spark.session()
        threads = [threading.Thread(target=run, args=(path, spark)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main([Path(text) for text in sys.argv[1:]])
