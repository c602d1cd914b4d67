import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.columns import RecordColumns

HEADER = StructType(
    [StructField("key", StringType()), StructField("value", BinaryType())]
)
SPARK = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(HEADER)),
    ]
)


def test_arrow_has_the_types_that_spark_expects() -> None:
    columns = RecordColumns.of_schema(SPARK)
    assert columns == RecordColumns.of(include_headers=True)
    assert to_arrow_schema(SPARK, timezone="UTC").equals(columns.arrow_schema())


def test_headers_are_asked_for() -> None:
    assert "headers" not in RecordColumns.of(include_headers=False)
    assert RecordColumns.of(include_headers=True).ddl.endswith(
        "headers array<struct<key:string,value:binary>>"
    )


def test_some_columns_in_the_order_of_the_user() -> None:
    wanted = StructType([SPARK["offset"], SPARK["key"]])
    columns = RecordColumns.of_schema(wanted)
    assert columns.names == ("offset", "key")
    assert columns.arrow_schema() == pa.schema(
        [("offset", pa.int64()), ("key", pa.binary())]
    )


def test_a_schema_that_records_do_not_have() -> None:
    with pytest.raises(SourceError, match="column 'valeu'; there are key, value"):
        RecordColumns.of_schema(StructType([StructField("valeu", BinaryType())]))
    with pytest.raises(SourceError, match=r"value string; it is binary\. Cast"):
        RecordColumns.of_schema(StructType([StructField("value", StringType())]))
