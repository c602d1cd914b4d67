"""Why a query ended: what stops the job, and what may pass."""

import pytest

from client.errors import Unreachable
from protocol.errors import NetworkException
from pyspark_odradek.confluent import RegistryAway
from pyspark_odradek.errors import DataLoss
from pyspark_odradek.job_errors import JobError, JobStopped, TooManyDeadLetters
from pyspark_odradek.stream_failure import StreamFailure, failure_of, in_one_line

TRACEBACK = """[STREAM_FAILED] Query [id = 1] terminated with exception: x
Traceback (most recent call last):
  File "wire_reader.py", line 3
pyspark_odradek.errors.{kind}: {said}
"""


def test_error_of_the_committer_is_raised_as_it_is() -> None:
    for error in (JobStopped("a"), TooManyDeadLetters("b")):
        assert failure_of(error, "whatever") is error


@pytest.mark.parametrize(
    "error", [Unreachable("gone"), NetworkException("cut"), ConnectionResetError("x")]
)
def test_lost_broker_may_come_back(error: Exception) -> None:
    found = failure_of(error, "")
    assert isinstance(found, StreamFailure)
    assert found.may_pass


def test_error_of_the_source_is_found_in_the_text() -> None:
    text = TRACEBACK.format(kind="DataLoss", said="offsets 1 to 5 are gone.")
    found = failure_of(None, text)
    assert isinstance(found, JobStopped)
    assert str(found) == "offsets 1 to 5 are gone."
    assert isinstance(failure_of(DataLoss("x"), ""), JobStopped)


def test_anything_else_is_one_line_and_tried_again() -> None:
    text = (
        "Job aborted\n\torg.apache.spark.SparkException: Python worker exited\n\tat x"
    )
    found = failure_of(None, text)
    assert isinstance(found, StreamFailure)
    assert str(found) == "org.apache.spark.SparkException: Python worker exited"
    ended = "[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker"
    ended += " failed to connect back. SQLSTATE: XXKST\nmore"
    assert str(failure_of(None, ended)) == "Python worker failed to connect back."
    assert "without a reason" in str(failure_of(None, ""))


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
    text = f"pyspark_odradek.confluent.RegistryAway: {said}"
    for raised in RuntimeError("it failed"), RegistryAway(said):
        found = failure_of(raised, text)
        assert isinstance(found, StreamFailure)
        assert found.may_pass
        assert str(found) == said


def test_commands_say_it_in_one_line() -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    lost = TRACEBACK.format(kind="DataLoss", said="offsets 1 to 5 are gone.")
    for error, said in {
        PySparkException(lost): "offsets 1 to 5 are gone",
        PySparkException("a\nx.SparkException: no memory"): "no memory",
        Py4JError("Answer from Java side is empty"): "spark.driver.memory",
    }.items():
        with pytest.raises(JobError, match=said), in_one_line():
            raise error
