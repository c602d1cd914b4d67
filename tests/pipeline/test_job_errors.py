"""All that stops a job can be caught as one kind of error."""

import pytest

from odradek.pipeline import job_errors


@pytest.mark.parametrize("kind", ["JobStopped", "CommitRefused", "TooManyDeadLetters"])
def test_all_are_job_errors(kind: str) -> None:
    assert issubclass(getattr(job_errors, kind), job_errors.JobError)
