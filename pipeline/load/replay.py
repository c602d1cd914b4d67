"""Dead letters back to a topic: as they came, with a header that says where from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.dead_letters import HEADERS, REASON

from .record_rows import RecordColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HEADER = "odradek.replayed.from"
_NEEDED = ("topic", "partition", "offset", "timestamp", "key", "value", REASON)
_HEADERS_TYPE = "array<struct<key: string, value: binary>>"


class Replay(NamedTuple):
    """Which dead letters: of a topic, with a reason that has a match of a pattern.

    Empty for all of them.
    """

    topic: str = ""
    reason: str = ""
    keeps_partition: bool = False

    def rows(self, letters: DataFrame) -> DataFrame:
        """The rows that are wanted, with the header.

        Raises:
            JobError: it is no table of dead letters.
        """
        from pyspark.sql import functions as f

        missing = [name for name in _NEEDED if name not in letters.columns]
        if missing:
            raise JobError(
                f"this is not a table of dead letters: it has no column {missing[0]}; a"
                " sink's is beside its table, or where [dead_letters] path says"
            )
        if self.topic:
            letters = letters.where(f.col("topic") == self.topic)
        if self.reason:
            letters = letters.where(f.col(REASON).rlike(self.reason))
        place = f.concat_ws("-", f.col("topic"), f.col("partition").cast("string"))
        origin = f.concat(place, f.lit("@"), f.col("offset").cast("string"))
        pair = f.struct(
            f.lit(HEADER).alias("key"), origin.cast("binary").alias("value")
        )
        added = f.array(pair).cast(_HEADERS_TYPE)
        if HEADERS in letters.columns:
            # What was replayed and failed again says where it failed last.
            kept = f.filter(HEADERS, lambda each: each["key"] != HEADER)
            empty = f.array().cast(_HEADERS_TYPE)
            given = f.coalesce(kept.cast(_HEADERS_TYPE), empty)
            added = f.concat(given, added)
        return letters.withColumn(HEADERS, added)

    def columns(self, names: list[str]) -> RecordColumns:
        """Which of the columns are which parts of a record."""
        partition = "partition" if self.keeps_partition else ""
        return RecordColumns("key", "value", HEADERS, "timestamp", partition)
