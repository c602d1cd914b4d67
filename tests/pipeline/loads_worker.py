"""Several loads in one driver, in a process of its own: to be killed at any moment.

``python -m tests.pipeline.loads_worker [ARGUMENT ...] -- [ARGUMENT ...] ...``:
one Spark, in which each ``odradek pipeline load`` has a thread until it is done.
"""

import sys
import threading
from itertools import groupby

from odradek.pipeline.commands.load import command
from odradek.pipeline.spark import session as spark_session
from tests.pipeline.shared_spark import SharedSpark

CONF = {
    "spark.driver.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
}


def main(arguments: list[str]) -> None:
    with spark_session.SparkOfCommand("loads", "local[2]", CONF) as spark:
        SharedSpark.shared = spark.session()
        setattr(spark_session, "SparkOfCommand", SharedSpark)  # noqa: B010
        loads = [
            list(load) for is_one, load in groupby(arguments, "--".__ne__) if is_one
        ]
        threads = [threading.Thread(target=command, args=(load,)) for load in loads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
