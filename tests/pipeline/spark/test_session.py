"""Java is looked for before Spark is started."""

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from pyspark.errors import AnalysisException, PySparkException

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.source.data_source import DefaultSource
from odradek.pipeline.spark.session import (
    SparkOfCommand,
    check_java,
    java_version,
    register_source,
    set_python,
    spark_session,
)
from odradek.pipeline.workers.python import worker_python
from odradek.terminal.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_versions() -> None:
    assert java_version('openjdk version "17.0.15" 2025-04-15') == 17
    assert java_version('java version "1.8.0_402"') == 8
    assert java_version('openjdk version "21" 2023') == 21
    assert java_version("no such thing") is None


def fake_java(folder: Path, version: str, code: int = 0) -> None:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = f"echo 'openjdk version \"{version}\"' >&2\nexit {code}\n"
    path.write_text(f"#!/bin/sh\n{said}")
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


def test_java_that_does_not_run_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As the one of macOS that only says where to get one."""
    fake_java(tmp_path, "17", code=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JobError, match="java does not run: openjdk"):
        check_java()
    (tmp_path / "bin" / "java").chmod(0o644)
    with pytest.raises(JobError, match=r"JAVA_HOME is .*, where there is none"):
        check_java()


class FakeSpark:
    """A session that is told of sources."""

    def __init__(self, *, has_found: bool) -> None:
        self.dataSource = self
        self.registered: list[str] = []
        self._has_found = has_found

    def register(self, source: type[DefaultSource]) -> None:
        if self._has_found:
            raise AnalysisException("[DATA_SOURCE_ALREADY_EXISTS]")
        self.registered.append(source.name())


def test_a_session_is_told_of_the_source_that_it_does_not_find() -> None:
    for has_found, registered in {True: [], False: ["odradek"]}.items():
        spark = FakeSpark(has_found=has_found)
        register_source(cast("SparkSession", spark))
        assert spark.registered == registered


class NoBuilder:
    """Stands for Spark's builder, and starts nothing."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}

    def appName(self, name: str) -> "NoBuilder":
        return self

    def master(self, master: str) -> "NoBuilder":
        return self

    def config(self, option: str, value: str) -> "NoBuilder":
        self.options[option] = value
        return self

    def getOrCreate(self) -> None:
        raise PySparkException("nothing starts")


def test_all_processes_run_one_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a notebook is not meant for Spark's tasks."""

    def chosen(given: str, master: str) -> str:
        set_python(given, master)
        assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"]
        return os.environ["PYSPARK_PYTHON"]

    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "jupyter")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen("", "spark://a:7077") == sys.executable
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert chosen("", "local[2]") == worker_python()
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/env/bin/python")
    assert chosen("", "yarn") == "/opt/env/bin/python"
    assert chosen("./env/bin/python", "yarn") == "./env/bin/python"


def test_a_start_that_takes_its_time_is_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "builder", NoBuilder())
    said = io.StringIO()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    spark = SparkOfCommand("test", None, progress=Progress(said))
    with pytest.raises(JobError, match="JAVA_HOME"):
        spark.session()
    assert said.getvalue() == ""  # it does not start at all
    fake_java(tmp_path, "17")
    with pytest.raises(JobError, match="nothing starts"):
        spark.session()
    step = "Spark is starting, which can take a minute"
    assert json.loads(said.getvalue()) == {"step": step}


def test_spark_begins_without_warnings_unless_somebody_has_configured_its_logs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pyspark.sql import SparkSession

    builder = NoBuilder()
    monkeypatch.setattr(SparkSession, "builder", builder)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    fake_java(tmp_path, "17")
    with pytest.raises(JobError):
        spark_session("test")
    stack, logging = builder.options["spark.driver.extraJavaOptions"].split()
    name, _, uri = logging.partition("=")
    assert (stack, name) == ("-Xss16m", "-Dlog4j2.configurationFile")
    text = Path(url2pathname(urlsplit(uri).path)).read_text()
    assert "rootLogger.level = error\n" in text
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(JobError):
        spark_session("test")
    assert builder.options["spark.driver.extraJavaOptions"] == "-Xss16m"
