"""A topic becomes a table, a summary of it, and another topic.

Tables are Spark's own. Each row of the topic is in the table once, as Spark's readers
see it; the rows of the sink are in their topic at least once.
"""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession, functions

BROKERS = os.environ.get("BROKERS", "127.0.0.1:9092")
COLUMNS = "id BIGINT, customer STRING, amount DOUBLE"


@dp.table
def orders() -> DataFrame:
    """What the topic has, record by record."""
    records = (
        SparkSession.active()
        .readStream.format("odradek")
        .option("kafka.bootstrap.servers", BROKERS)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    value = f"from_json(cast(value AS string), '{COLUMNS}') AS value"
    return records.selectExpr(value, "timestamp AS at").select("value.*", "at")


@dp.materialized_view
def customers() -> DataFrame:
    """What each customer has spent."""
    each = SparkSession.active().table("orders").groupBy("customer")
    return each.agg(functions.sum("amount").alias("amount"))


dp.create_sink(
    "large_orders",
    "odradek",
    {"kafka.bootstrap.servers": BROKERS, "topic": "large-orders"},
)


@dp.append_flow(target="large_orders")
def large() -> DataFrame:
    """Orders that somebody should look at."""
    found = SparkSession.active().readStream.table("orders").where("amount >= 1000")
    return found.selectExpr("customer AS key", "to_json(struct(*)) AS value")
