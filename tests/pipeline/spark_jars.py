"""Java for Spark, and the jars of its own Kafka connector, fetched once by Maven."""

import fcntl
import shutil
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
LIBS = HERE / "target" / "libs"
_COMPLETE = LIBS / ".complete"


def java_missing() -> str | None:
    """Why Spark cannot run here; None when it can."""
    return None if shutil.which("java") else "needs java"


def origin() -> str:
    """Where Spark's own jars are, and when they were put there."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    return f"{jars}\n{jars.stat().st_mtime_ns}\n{pyspark.__version__}"


@cache
def connector_missing() -> str | None:
    """Why Spark's Kafka connector is not here; None when its jars are in place."""
    with POM.open() as lock:  # of several processes with tests, one fetches
        fcntl.flock(lock, fcntl.LOCK_EX)
        pom = POM.read_text()
        if _COMPLETE.exists() and _COMPLETE.read_text() == pom:
            return None
        if shutil.which("mvn") is None:
            return "needs mvn"
        shutil.rmtree(LIBS, ignore_errors=True)
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return f"Maven did not fetch the connector: {run.stdout}{run.stderr}"
        _COMPLETE.write_text(pom)
    return None


def connector_jars() -> list[str]:
    """The jars, or none where they cannot be had."""
    if connector_missing():
        return []
    return sorted(str(path) for path in LIBS.glob("*.jar"))
