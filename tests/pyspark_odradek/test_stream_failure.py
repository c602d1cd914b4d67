"""Why a query ended: what stops the job, and what may pass."""

import pytest

from client.errors import Unreachable
from protocol.errors import NetworkException
from pyspark_odradek.errors import DataLoss
from pyspark_odradek.job_errors import JobStopped, TooManyDeadLetters
from pyspark_odradek.stream_failure import StreamFailure, failure_of

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
