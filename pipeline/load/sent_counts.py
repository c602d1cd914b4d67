"""The tasks of a batch, run: how many records of each partition they have sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.security.words import FINAL
from odradek.pipeline.spark.task_failures import lacking, text_of, with_place

from .batch_sender import COUNTS_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .batch_sender import BatchSender

_FINAL = {kind.__name__: kind for kind in FINAL}


class SparkFailure(Exception):
    """A job of Spark failed; the message is its first reason."""

    @property
    def refusal(self) -> Exception | None:
        """What a broker will always answer, if it was that."""
        name, colon, said = str(self).partition(": ")
        kind = _FINAL.get(name.rpartition(".")[2])
        return kind(said) if colon and kind is not None else None


def sent_counts(prepared: DataFrame, sender: BatchSender) -> dict[int, int]:
    """Run the job; how many records each partition got.

    Raises:
        SparkFailure: a task failed, two tasks wrote one partition, or the tasks have
            not read the files that are here.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        found = prepared.mapInArrow(sender, COUNTS_SCHEMA).collect()
    except (PySparkException, Py4JError) as error:
        text = text_of(error)
        said = lacking(text) or with_place(_reason(str(error)), text)
        raise SparkFailure(said) from error
    counts = {row["partition"]: row["records"] for row in found}
    if len(counts) != len(found):
        raise SparkFailure("two tasks wrote one partition")
    if sender.files is not None:
        sender.files.check(sum(counts.values()))
    return counts


def _reason(text: str) -> str:
    """The error that a task ended with, out of all that Spark tells of it."""
    lines = [line.strip() for line in text.splitlines()]
    telling = [
        line
        for line in lines
        if (
            "Error:" in line
            or "Failed:" in line
            or "Refused:" in line
            or "Exception:" in line
        )
        and not line.startswith(("org.apache.spark.SparkException: Job", "at "))
        and "api.python.PythonException" not in line
    ]
    return (telling or lines or [text])[0]
