"""Apache Kafka's classes, fetched once by Maven, and how they are run."""

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
LIBS = HERE / "target" / "libs"
_COMPLETE = LIBS / ".complete"


@cache
def missing() -> str | None:
    """What is not here that Apache Kafka needs; None when it can run."""
    programs = [name for name in ("java", "javac", "mvn") if shutil.which(name) is None]
    return f"needs {' and '.join(programs)}" if programs else None


def fetch() -> None:
    """Have Maven put the jars into place, unless they are there for this pom."""
    pom = HERE / "pom.xml"
    with pom.open() as lock:  # of several processes with tests, one fetches
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = pom.read_text()
        if _COMPLETE.exists() and _COMPLETE.read_text() == text:
            return
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        _COMPLETE.write_text(text)


def origin() -> str:
    """What the classes come from, in words."""
    return f"{LIBS}\n{_COMPLETE.read_text()}"


def java(
    class_name: str, *arguments: str, heap: str = "256M", classes: Path | None = None
) -> list[str]:
    """The command line that runs one of Apache Kafka's classes, or of ``classes``."""
    path = f"{LIBS}/*" if classes is None else f"{classes}:{LIBS}/*"
    options = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    options += ["-Djava.awt.headless=true"]
    options += [f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"]
    level = os.environ.get("KAFKA_LOG_LEVEL", "INFO")
    options += [f"-Dlog.level={level}", "-cp", path]
    return ["java", *options, class_name, *arguments]


def run_tool(class_name: str, *arguments: str) -> str:
    """What a tool prints, which must end well."""
    run = subprocess.run(
        java(class_name, *arguments), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
