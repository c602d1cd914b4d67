"""Java is looked for before Spark is started."""

from pathlib import Path

import pytest

from pyspark_odradek.job_errors import JobError
from pyspark_odradek.spark_session import SparkOfCommand, check_java, java_version


def test_versions() -> None:
    assert java_version('openjdk version "17.0.15" 2025-04-15') == 17
    assert java_version('java version "1.8.0_402"') == 8
    assert java_version('openjdk version "21" 2023') == 21
    assert java_version("no such thing") is None


def fake_java(folder: Path, version: str) -> None:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)


def test_missing_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JobError, match="JAVA_HOME is"):
        SparkOfCommand("test", None).session()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JobError, match="none is found"):
        check_java()


def test_old_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path, "1.8.0_402")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JobError, match="is Java 8"):
        check_java()
