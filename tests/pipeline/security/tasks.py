"""What a task of Spark sees, in the process of a test."""

from pathlib import Path

import pytest
from pyspark import SparkFiles, TaskContext


def in_task(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    """From now on this is a task, to which Spark has brought these files."""
    monkeypatch.setattr(TaskContext, "_taskContext", object.__new__(TaskContext))
    monkeypatch.setattr(SparkFiles, "_root_directory", str(files))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
