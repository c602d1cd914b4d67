"""What most drivers do, once each, in a process that ends in order.

``python -m tests.pipeline.spark_training``: the classes that this loads are
those that its Java keeps for the next (see `tests.java_archive`).
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkContext

from odradek.pipeline.spark.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession


def work(spark: "SparkSession", folder: Path) -> None:
    """A table is written and read, grouped, mapped by Python, and streamed."""
    table = str(folder / "table")
    numbers = spark.range(100).selectExpr("id", "id % 7 AS key", "'text' AS value")
    numbers.write.parquet(table)
    read = spark.read.parquet(table)
    read.groupBy("key").count().orderBy("key").collect()
    read.mapInArrow(same, read.schema).collect()
    read.rdd.map(lambda row: row.id).sum()
    stream = spark.readStream.schema(read.schema).parquet(table)
    query = (
        stream.writeStream.foreachBatch(lambda frame, _: frame.count())
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def same(batches: "Iterable[RecordBatch]") -> "Iterator[RecordBatch]":
    yield from batches


def main() -> None:
    spark = spark_session("training", "local[2]")
    with tempfile.TemporaryDirectory() as folder:
        work(spark, Path(folder))
    gateway = SparkContext._gateway
    assert gateway is not None
    java = gateway.proc
    spark.stop()
    gateway.shutdown()
    java.stdin.close()  # for which it waits
    java.wait()


if __name__ == "__main__":
    main()
