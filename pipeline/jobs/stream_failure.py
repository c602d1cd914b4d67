"""Why a job of Spark ended: in one line, and whether it may pass.

An error of the committer is known as it was raised; one of the source comes out of
Spark as text, with the tracebacks of several processes.

What may pass by itself is listed here: brokers, registries and catalogues that cannot
be reached or are busy, and processes that are gone. Everything else, a fault of our own
above all, would fail again, and ends the job at once.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from odradek.objects.errors import StoreError
from odradek.pipeline import errors
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.security.words import is_final
from odradek.pipeline.spark.task_failures import lacking, text_of, with_place
from odradek.protocol.errors import RetriableError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of our own errors, those that another try does not mend.
_FINAL = (
    "SourceError",
    "BadOption",
    "DataLoss",
    "TopicRecreated",
    "TopicReplaced",
    "CorruptData",
    "JobError",
    "JobStopped",
    "StoreRefused",
    "NoSuchObject",
)
# By name, as most come as text; what an error inherits from counts as well.
_AWAY = (
    *(
        "StoreAway",
        "RegistryAway",
        "SourceAway",
        "Unreachable",
        "NoAnswer",
        "ConnectionClosed",
    ),
    *("ConnectionError", "ConnectionAbortedError", "ConnectionRefusedError"),
    *("ConnectionResetError", "BrokenPipeError", "TimeoutError"),
    # Catalogues, of pyiceberg and requests.
    *("ConnectTimeout", "ReadTimeout", "ServerError", "ServiceUnavailableError"),
    *("TooManyRequestsError", "CommitStateUnknownException", "WaitingForLockException"),
    # Spark's own connector, in Java.
    *("ConnectException", "SocketException", "SocketTimeoutException"),
    *("NoRouteToHostException", "UnknownHostException", "TimeoutException"),
    *("DisconnectException", "RetriableException"),
)
# A process that Spark has lost, after as many tries as it gives a task.
_GONE = (
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
    "ExecutorLostFailure",
)
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*"
    r"(?:\w+\.)*([A-Za-z_]\w*)(?:: *(.*))?"
)
_NAMED = re.compile(r"(?:^|[\s:])(?:[a-z_][\w$]*\.)+([A-Z]\w+): *(.*)")
_MEANWHILE = "During handling of the above exception, another exception occurred:"
_ENDED = re.compile(r"terminated with exception: *([^\n]*?\S) *(?:SQLSTATE|\n|$)")
_LINE_MAX = 400
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
    if raised is not None and not _is_of_spark(raised):
        return _failure_of_ours(raised)
    text = text if raised is None else text_of(raised)
    named = _named(text)
    for name, said in reversed(named):  # the causes of the last one stand before it
        if name in _passing():
            return StreamFailure(with_place(said, text), may_pass=True)
        if name in _FINAL:
            return JobStopped(with_place(said, text))
    if lack := lacking(text):
        return JobError(lack)
    for words, advice in _ADVICE.items():
        if words in text:
            return JobError(advice)
    is_gone = not _TRACEBACK.search(text) and any(words in text for words in _GONE)
    return StreamFailure(with_place(_reason(text), text), may_pass=is_gone)


def _failure_of_ours(raised: BaseException) -> Exception:
    """What was raised in the driver, outside of Spark."""
    cause: BaseException | None = raised
    while cause is not None:
        if is_final(cause):
            return JobStopped(str(raised))
        if any(kind.__name__ in _passing() for kind in type(cause).__mro__):
            return StreamFailure(str(raised), may_pass=True)
        cause = cause.__cause__
    if isinstance(raised, JobError):
        return raised
    if isinstance(raised, errors.SourceError | StoreError):
        return JobStopped(str(raised))
    said = f"{type(raised).__name__}: {raised}"
    return StreamFailure(said[:_LINE_MAX], may_pass=False)


def _is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


@cache
def _passing() -> frozenset[str]:
    """The names of what may pass; retriable errors have theirs in Java as well."""
    names, found = set(_AWAY), [RetriableError]
    while found:
        kind = found.pop()
        found += kind.__subclasses__()
        names |= {kind.__name__, f"{kind.__name__}Exception"}
    return frozenset(names)


def _named(text: str) -> list[tuple[str, str]]:
    """The errors in a text, and what they say: the last one of Python was raised.

    What it was raised in the handling of is no cause of it, unless it says so. Without
    Python it was Java.
    """
    text = text.rpartition(_MEANWHILE)[2]
    found = _TRACEBACK.findall(text) or [
        each
        for line in text.splitlines()
        if not line.lstrip().startswith("at ")
        for each in _NAMED.findall(line)
    ]
    return [(name, said.strip() or name) for name, said in found]


def _reason(text: str) -> str:
    """The line that says most."""
    if found := _TRACEBACK.findall(text):
        return ": ".join(part for part in found[-1] if part)[:_LINE_MAX]
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
        found = failure_of(None, text_of(error))
        raise found if isinstance(found, JobError) else JobError(str(found)) from error
    except (Py4JError, ConnectionError) as error:
        raise JobError(f"{JVM_ENDED}; run it again") from error
