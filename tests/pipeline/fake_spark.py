"""A session whose streams run as far as a test wants; there is no Java behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from pyspark.sql import SparkSession

RunBatch = "Callable[[Any, int], None]"


class FakeSpark:
    """Each stream that is started runs the next of the ``queries``.

    One is given what writes a batch; a query fails with what it raises, as Spark's do,
    and else has read all there is.
    """

    def __init__(self, queries: Sequence[Callable[[RunBatch], None]]) -> None:
        self._queries = list(queries)
        self._run_batch: Any = None
        self.started = 0  # how many streams were

    def open(self) -> SparkSession:
        """What a `Sink` opens."""
        return cast("SparkSession", self)

    def __getattr__(self, name: str) -> Any:
        """``spark.readStream.format(...)`` and so on: it is all one object."""
        if name in ("readStream", "writeStream", "dataSource", "sparkContext"):
            return self
        return self._said  # whatever is said

    def _said(self, *_: Any, **__: Any) -> Self:
        return self

    def foreachBatch(self, run_batch: RunBatch) -> Self:
        self._run_batch = run_batch
        return self

    def start(self) -> Self:
        self.started += 1
        return self

    def awaitTermination(self, _: float) -> bool:
        try:
            self._queries[self.started - 1](self._run_batch)
        except ConnectionError:  # to the JVM
            raise
        except Exception as error:
            text = f"[STREAM_FAILED] terminated with exception: {error}"
            raise StreamingQueryException(text) from None
        return True
