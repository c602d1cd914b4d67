"""The Spark that a command runs: embedded by default, with the settings it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.workers.python import socket_options, worker_python
from odradek.terminal.progress import Progress

from .executor_watch import watched
from .finding import first_line
from .remote import connected, is_remote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

    from .executor_watch import ExecutorWatch

# A task that fails, for instance with its worker, is tried again.
MASTER = "local[*,4]"
_JAVA_MIN = 17
# Options of a source whose values Spark hides in plans, by their names: more than its
# own words, which know no JAAS and no key.
REDACTED = {
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|credential"
    "|jaas|keystore[.]key|key[.]pem|user[.]info"
}
_OPTIONS = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Enough rows at once that Arrow pays. A worker that Spark hands rows holds up to
    # three such batches, and records may be large: hence the bytes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    **REDACTED,
    # A Python worker that starts slowly, on a busy machine, has not failed.
    "spark.python.authenticate.socketTimeout": "60s",
}
# What else there is to set, a server has set when it started.
_OF_SESSION = {n: text for n, text in _OPTIONS.items() if n.startswith("spark.sql.")}
# Spark looks for a word in messages of failures with a regular expression, which
# overflows the usual stack when the message is a long traceback.
_STACK = "-Xss16m"
_LOGGING = Path(__file__).with_name("log4j2.properties")


class SparkOfCommand:
    """The session of a command, begun when it is first needed."""

    def __init__(
        self,
        name: str,
        master: str | None,
        conf: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._name = name
        self._progress = progress or Progress()
        self._master = master or MASTER
        self._conf = conf
        self._session: SparkSession | None = None
        self._watch: ExecutorWatch | None = None

    def session(self) -> SparkSession:
        """The session.

        Raises:
            JobError: Spark or Java is missing, or does not start.
        """
        if self._session is None:
            self._session = spark_session(
                self._name, self._master, self._conf, self._progress
            )
            self._watch = watched(self._session, self._master, self._progress)
        return self._session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._watch is not None:
            self._watch.stop()
        if self._session is not None:
            with suppress(Exception):  # its JVM may be gone
                self._session.stop()


def spark_session(
    name: str,
    master: str = MASTER,
    conf: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SparkSession:
    """A session for one command; the caller stops it.

    ``progress`` is told when all is there that it needs: then it takes its time.

    Raises:
        JobError: Spark or Java is missing, or does not start.
    """
    if is_remote(master):
        return connected(name, master, _OF_SESSION | dict(conf or {}))
    check_java()
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    options = {**_OPTIONS, "spark.driver.extraJavaOptions": _java_options()}
    options |= conf or {}
    if master.startswith("local"):
        options = socket_options() | options
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    set_python(options.pop("spark.pyspark.python", ""), master)
    if progress is not None:
        progress.note("Spark is starting, which can take a minute")
    builder = SparkSession.builder.appName(f"odradek {name}").master(master)
    for option, value in options.items():
        builder = builder.config(option, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        raise JobError(
            f"Spark does not start: {first_line(error)}; `odradek pipeline doctor` says"
            " what is missing"
        ) from None


def set_python(given: str, master: str) -> None:
    """Let all of Spark's processes run one Python: the one that is given, or is set.

    Spark takes PYSPARK_DRIVER_PYTHON for the tasks of a source that it has found
    itself, on executors too. For people it is what their notebooks run in.
    """
    if not given:
        usual = worker_python() if master.startswith("local") else sys.executable
        given = os.environ.get("PYSPARK_PYTHON") or usual
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = given


def _java_options() -> str:
    """Those of the driver, with quiet logs unless somebody has configured Spark's."""
    if os.environ.get("SPARK_CONF_DIR"):
        return _STACK
    return f"{_STACK} -Dlog4j2.configurationFile={_LOGGING.as_uri()}"


def register_source(spark: SparkSession) -> None:
    """Let a session know ``format("odradek")``, also where it finds none by itself.

    It looks into the folders of the path, in which an editable install may not be.
    """
    from pyspark.errors import AnalysisException

    from odradek.pipeline.source.data_source import DefaultSource

    with suppress(AnalysisException):  # it has found it
        spark.dataSource.register(DefaultSource)


def check_java() -> None:
    """Say at once what Spark would say in a traceback.

    Raises:
        JobError: there is no Java, or one that is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    if not java:
        where = f"JAVA_HOME is {home}, where there is none" if home else "none is found"
        raise JobError(
            f"Spark needs Java {_JAVA_MIN} or later; {where}. Install it (apt install "
            "openjdk-17-jre-headless, brew install openjdk@17) or set JAVA_HOME"
        )
    asked = subprocess.run(
        [java, "-version"], capture_output=True, text=True, check=False
    )
    version = java_version(asked.stderr)
    if asked.returncode:
        raise JobError(
            f"{java} does not run: {' '.join(asked.stderr.split())[:200]}. Spark needs "
            f"Java {_JAVA_MIN} or later; set JAVA_HOME to one"
        )
    if version is not None and version < _JAVA_MIN:
        raise JobError(
            f"Spark needs Java {_JAVA_MIN} or later; {java} is Java {version}. Set "
            "JAVA_HOME to a later one"
        )


def java_version(text: str) -> int | None:
    """The major version in what ``java -version`` prints."""
    for word in text.replace('"', " ").split():
        parts = word.split(".")
        if parts[0].isdigit():
            return (
                int(parts[1]) if parts[0] == "1" and len(parts) > 1 else int(parts[0])
            )
    return None
