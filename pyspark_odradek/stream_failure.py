"""Why a job of Spark ended: in one line, and whether it may pass.

An error of the committer is known as it was raised; one of the source comes out of
Spark as text, with the tracebacks of several processes.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from client.errors import NoAnswer, Unreachable
from protocol.errors import RetriableError

from . import errors
from .confluent import RegistryAway
from .job_errors import JobError, JobStopped

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAISED = re.compile(r"pyspark_odradek(?:\._odradek)?[.\w]*\.([A-Z]\w+): (.+)")
_ENDED = re.compile(r"terminated with exception: *([^\n]*?\S) *(?:SQLSTATE|\n|$)")
_LINE_MAX = 400
# Of our own errors, those that another try does not mend.
_FINAL = (
    "SourceError",
    "OptionError",
    "DataLoss",
    "TopicRecreated",
    "CorruptData",
    "JobError",
    "JobStopped",
)
_LOST = ("Connection refused", "Unreachable", "NoAnswer", "NetworkException")
_NOT_INSTALLED = (
    "Spark's Python does not find odradek: install it there, or set PYSPARK_PYTHON to "
    "the Python that has it; `odradek pipeline doctor` says which one Spark runs"
)
# Of Spark's own errors, by words in them, what would help.
_ADVICE = {
    "KAFKA_DATA_SOURCE_NOT_ENABLED": "Spark's own Kafka connector is not there: name "
    'its jars with [spark.conf] "spark.jars" = "a.jar,b.jar"; [source] format = '
    '"odradek" reads the same without a jar',
    "DATA_SOURCE_NOT_FOUND": _NOT_INSTALLED,
    "No module named 'pyspark_odradek'": _NOT_INSTALLED,
}
JVM_ENDED = (
    "Spark's JVM has ended: it was killed, or had too little memory "
    "(spark.driver.memory=2g)"
)


class StreamFailure(Exception):
    """A streaming query has failed; ``may_pass`` says whether to try again."""

    def __init__(self, reason: str, *, may_pass: bool) -> None:
        super().__init__(reason)
        self.may_pass = may_pass


def failure_of(raised: BaseException | None, text: str) -> Exception:
    """The error to raise for a query that ended with ``text``.

    ``raised`` is what the committer raised, if it was the committer.
    """
    if isinstance(raised, RegistryAway):
        return StreamFailure(str(raised), may_pass=True)
    if isinstance(raised, JobError):
        return raised
    if isinstance(raised, errors.SourceError):
        return JobStopped(str(raised))
    if isinstance(raised, Unreachable | NoAnswer | RetriableError | ConnectionError):
        return StreamFailure(str(raised), may_pass=True)
    text = text if raised is None else f"{raised}\n{text}"
    found = _RAISED.search(text)
    if found and found[1] in _FINAL:
        return JobStopped(found[2].strip())
    for words, advice in _ADVICE.items():
        if words in text:
            return JobError(advice)
    if found:
        return StreamFailure(found[2].strip(), may_pass=True)
    said = text if raised is None else f"{type(raised).__name__}: {raised}"
    return StreamFailure(_reason(said), may_pass=True)


def _reason(text: str) -> str:
    """The line that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if any(word in line for word in _LOST):
            return line[:_LINE_MAX]
    ended = _ENDED.search(text)
    if ended:
        return ended[1][:_LINE_MAX]
    for line in lines:
        if re.match(r"(\w+\.)*\w*(Error|Exception): ", line):
            return line[:_LINE_MAX]
    return (lines or ["it ended without a reason"])[0][:_LINE_MAX]


@contextmanager
def in_one_line() -> Iterator[None]:
    """What a job of Spark fails with becomes a `JobError`, without tracebacks."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = failure_of(None, str(error))
        raise found if isinstance(found, JobError) else JobError(str(found)) from error
    except (Py4JError, ConnectionError) as error:
        raise JobError(f"{JVM_ENDED}; run it again") from error
