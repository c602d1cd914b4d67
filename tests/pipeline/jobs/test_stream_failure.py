"""Why a query ended: what stops the job, and what may pass."""

import pytest
from pyspark.errors import PySparkException

from odradek.client.errors import NoAnswer, TlsCause, TlsFailed, Unreachable
from odradek.pipeline.errors import DataLoss, SourceAway
from odradek.pipeline.job_errors import JobError, JobStopped, TooManyDeadLetters
from odradek.pipeline.jobs.stream_failure import StreamFailure, failure_of, in_one_line
from odradek.pipeline.values.confluent import RegistryAway
from odradek.protocol.errors import (
    NetworkException,
    NotLeaderOrFollower,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)

TRACEBACK = """[STREAM_FAILED] Query [id = 1] terminated with exception: x
Traceback (most recent call last):
  File "wire_reader.py", line 3
odradek.pipeline.errors.{kind}: {said}
"""


def test_error_of_the_committer_is_raised_as_it_is() -> None:
    for error in (JobStopped("a"), TooManyDeadLetters("b")):
        assert failure_of(error, "whatever") is error


class CatalogueError(Exception):
    """As libraries have them."""


class ServiceUnavailableError(CatalogueError):
    """The name of pyiceberg's."""


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("gone"),
        NoAnswer("gone"),
        NetworkException("gone"),
        NotLeaderOrFollower("gone"),
        ConnectionResetError("gone"),
        TimeoutError("gone"),
        SourceAway("gone"),
        RegistryAway("gone"),
        ServiceUnavailableError("gone"),
        caused(CatalogueError("gone"), ConnectionRefusedError("x")),
    ],
)
def test_what_is_away_may_come_back(error: Exception) -> None:
    found = failure_of(error, "")
    assert isinstance(found, StreamFailure)
    assert (str(found), found.may_pass) == ("gone", True)


@pytest.mark.parametrize(
    "error",
    [
        TypeError("wrong"),
        KeyError("wrong"),
        OSError(28, "No space left on device"),
        UnsupportedVersion("wrong"),
        CatalogueError("wrong"),
    ],
)
def test_a_fault_is_no_reason_to_try_again(error: Exception) -> None:
    found = failure_of(error, "odradek.client.errors.Unreachable: some time ago")
    assert isinstance(found, StreamFailure)
    assert not found.may_pass
    assert str(found) == f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "error",
    [
        TopicAuthorizationFailed("wrong"),
        SaslAuthenticationFailed("wrong"),
        TlsFailed("wrong", 10),
    ],
)
def test_a_refusal_ends_the_job(error: Exception) -> None:
    for raised in error, caused(RuntimeError("wrong"), error):
        assert isinstance(failure_of(raised, ""), JobStopped)
    assert isinstance(
        failure_of(TlsFailed("x", cause=TlsCause.HUNG_UP), ""), StreamFailure
    )


def test_error_of_the_source_is_found_in_the_text() -> None:
    text = TRACEBACK.format(kind="DataLoss", said="offsets 1 to 5 are gone.")
    found = failure_of(None, text)
    assert isinstance(found, JobStopped)
    assert str(found) == "offsets 1 to 5 are gone."
    assert isinstance(failure_of(DataLoss("x"), ""), JobStopped)


IN_A_TASK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "batch_writer.py", line 88, in write_rows
    good, bad = maker.make(batch)
                ^^^^^^^^^^^^^^^^^
{}
"""
CHAINED = """perform latestOffset: Traceback (most recent call last):
  File "cluster.py", line 262, in _connect
    raise Unreachable
{}

{} exception{}:

Traceback (most recent call last):
  File "main.py", line 1, in main
{}
 SQLSTATE: 38000 SQLSTATE: XXKST
"""
CAUSE = ("The above exception was the direct cause of the following", "")
MEANWHILE = ("During handling of the above exception, another", " occurred")


@pytest.mark.parametrize(
    ("text", "reason", "may_pass"),
    [
        (IN_A_TASK.format("TypeError: 5 is no str"), "TypeError: 5 is no str", False),
        (IN_A_TASK.format("AssertionError"), "AssertionError", False),
        (IN_A_TASK.format("odradek.client.errors.NoAnswer: a:1"), "a:1", True),
        (IN_A_TASK.format("ConnectionResetError: cut"), "cut", True),
        (
            CHAINED.format(
                "odradek.client.errors.Unreachable: a:1", *CAUSE, "ValueError: b"
            ),
            "a:1",
            True,
        ),
        (
            CHAINED.format(
                "odradek.client.errors.Unreachable: a", *MEANWHILE, "KeyError: 'b'"
            ),
            "KeyError: 'b'",
            False,
        ),
        (
            "terminated with exception: org.apache.kafka.common.errors."
            "NotLeaderOrFollowerException: not the leader",
            "not the leader",
            True,
        ),
        (
            "Job aborted: Task 0 failed 4 times: org.apache.kafka.common.errors."
            "TimeoutException: in 60000 ms\n\tat org.apache.X.y(X.java)",
            "in 60000 ms",
            True,
        ),
        (
            "Job aborted\n\torg.apache.spark.SparkException: no such codec\n"
            "\tat java.net.SocketException: x",
            "org.apache.spark.SparkException: no such codec",
            False,
        ),
        (
            "Job aborted\n\torg.apache.spark.SparkException: Python worker exited"
            " unexpectedly (crashed)\n\tat x",
            "org.apache.spark.SparkException: Python worker exited unexpectedly"
            " (crashed)",
            True,
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker"
            " failed to connect back. SQLSTATE: XXKST\nmore",
            "Python worker failed to connect back.",
            True,
        ),
        ("", "it ended without a reason", False),
    ],
)
def test_what_comes_as_text(text: str, reason: str, may_pass: bool) -> None:
    for raised in None, PySparkException(text):
        found = failure_of(raised, text)
        assert isinstance(found, StreamFailure)
        assert (str(found), found.may_pass) == (reason, may_pass)


def test_spark_without_what_it_needs() -> None:
    for name, helps in {
        "KAFKA_DATA_SOURCE_NOT_ENABLED": 'format = "odradek"',
        "DATA_SOURCE_NOT_FOUND": "odradek pipeline doctor",
    }.items():
        found = failure_of(None, f"[{name}] Failed to find data source")
        assert isinstance(found, JobError)
        assert helps in str(found)


def test_registry_that_is_away_may_come_back() -> None:
    said = "the registry http://r: refused"
    text = f"odradek.pipeline.values.confluent.RegistryAway: {said}"
    for raised in PySparkException(text), RegistryAway(said):
        found = failure_of(raised, "it failed")
        assert isinstance(found, StreamFailure)
        assert found.may_pass
        assert str(found) == said


def test_commands_say_it_in_one_line() -> None:
    from py4j.protocol import Py4JError

    lost = TRACEBACK.format(kind="DataLoss", said="offsets 1 to 5 are gone.")
    for error, said in {
        PySparkException(lost): "offsets 1 to 5 are gone",
        PySparkException("a\nx.SparkException: no memory"): "no memory",
        Py4JError("Answer from Java side is empty"): "spark.driver.memory",
    }.items():
        with pytest.raises(JobError, match=said), in_one_line():
            raise error
