"""What the jobs of the pipeline raise: every message says what to do."""

from __future__ import annotations


class JobError(Exception):
    """The job cannot run as it is described: a key, an option, a table, a schema."""


class JobStopped(JobError):
    """Going on would lose or repeat records; nothing of this batch was committed."""


class PositionLost(JobStopped):
    """The table has batches of the job up to ``batch``, and nothing says their ends."""

    def __init__(self, message: str, batch: int) -> None:
        super().__init__(message)
        self.batch = batch


class CommitRefused(JobStopped):
    """Another driver has committed this batch: it runs the same job."""


class TooManyDeadLetters(JobStopped):
    """Most records cannot be decoded: the settings are wrong, not the records."""
