"""What the pipeline needs, and whether it is here: each thing tried, with what to do.

Java, the Python packages and their versions, a Spark that starts, its workers that can
import this package, and a broker that can be reached, from there too.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.diagnosis import diagnose
from odradek.pipeline.security.access import OPEN, Access
from odradek.terminal.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from odradek.client.address import Address

_JAVA = (17, 21)
_JAVA_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_TIMEOUT_S = 10.0
# What is needed always, with its versions; and what one table format needs.
_PACKAGES = {
    "pyspark": ((4, 2), (4, 4)),
    "pyarrow": ((18,), None),
    "numpy": ((2,), None),
    "pandas": ((2, 2), (3,)),
}
_OPTIONAL = {"deltalake": "delta", "pyiceberg": "iceberg"}
_EXTRA = "pipeline"


class Finding(NamedTuple):
    """One thing: what, whether it is as it must be, and what would help."""

    check: str
    is_ok: bool
    detail: str
    advice: str = ""


def examine(
    session: Callable[[], SparkSession] | None,
    addresses: Sequence[Address],
    timeout_s: float = _TIMEOUT_S,
    *,
    access: Access = OPEN,
) -> Iterator[Finding]:
    """All findings, the cheap ones first.

    Spark is only started when everything before it is well; None leaves it out.
    """
    is_ready = True
    for finding in (*_packages(), java(), hostname()):
        is_ready &= finding.is_ok
        yield finding
    for found in diagnose(addresses, timeout_s, access.security()):
        detail = f"{found.target}: {found.detail}"
        yield Finding(f"broker: {found.check}", found.is_ok, detail, found.advice)
    if session is None:
        return
    if not is_ready:
        yield Finding("Spark", False, "not tried: something it needs is missing")
        return
    yield from _spark(session, addresses, access)


def _packages() -> Iterator[Finding]:
    for name, (lowest, below) in _PACKAGES.items():
        yield _package(name, lowest, below)
    for name, extra in _OPTIONAL.items():
        version = _version(name)
        if version is None:
            detail = f"not installed; only for {extra.capitalize()} tables"
            yield Finding(name, True, detail, install_command(extra))
        else:
            yield Finding(name, True, version)


def _package(
    name: str, lowest: tuple[int, ...], below: tuple[int, ...] | None
) -> Finding:
    version = _version(name)
    if version is None:
        return Finding(name, False, "not installed", install_command(_EXTRA))
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    wanted = f"{_dotted(lowest)} or later"
    if below is not None:
        wanted += f", before {_dotted(below)}"
    if numbers < lowest or (below is not None and numbers >= below):
        detail = f"{version}; it must be {wanted}"
        return Finding(name, False, detail, install_command(_EXTRA))
    return Finding(name, True, version)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def java(home: str | None = None) -> Finding:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME") if home is None else home
    found = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    lowest, usual = _JAVA
    advice = (
        f"Install Java {lowest} or {usual} (apt install openjdk-17-jre-headless; brew"
        " install openjdk@17), or set JAVA_HOME to it."
    )
    if found is None:
        where = f"JAVA_HOME is {home}, where" if home else "on the PATH"
        return Finding("Java", False, f"{where} there is none", advice)
    done = subprocess.run(
        [found, "-version"], capture_output=True, text=True, check=False
    )
    version = _JAVA_VERSION.search(done.stderr)
    if version is None:
        return Finding("Java", False, f"{found} does not say its version", advice)
    major = int(version[2] or 0) if version[1] == "1" else int(version[1])
    if major < lowest:
        detail = f"{found} is Java {major}; Spark needs {lowest}"
        return Finding("Java", False, detail, advice)
    return Finding("Java", True, f"{major} ({found})")


def hostname() -> Finding:
    """Whether this machine's own name leads to it, which Spark's driver needs."""
    import socket

    if os.environ.get("SPARK_LOCAL_IP"):
        return Finding("host name", True, f"SPARK_LOCAL_IP={_local_ip()}")
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        return Finding(
            "host name",
            False,
            f"{name} has no address",
            "Set SPARK_LOCAL_IP=127.0.0.1 for a Spark of this machine alone, or add"
            f" {name} to /etc/hosts.",
        )
    return Finding("host name", True, f"{name} is {address}")


def _local_ip() -> str:
    return os.environ.get("SPARK_LOCAL_IP", "")


def _spark(
    session: Callable[[], SparkSession], addresses: Sequence[Address], access: Access
) -> Iterator[Finding]:
    try:
        spark = session()
    except Exception as error:  # whatever Spark or Java comes up with
        yield Finding("Spark", False, _first_line(error), "See what Java said above.")
        return
    master = spark.sparkContext.master
    yield Finding("Spark", True, f"{spark.version} on {master}")
    yield _source(spark)
    try:
        found = dict(_ask_worker(spark, addresses, access))
    except Exception as error:
        yield Finding(
            "worker",
            False,
            _first_line(error),
            "Spark's workers run another Python, or do not have this package: install"
            " odradek there and set PYSPARK_PYTHON to that Python.",
        )
        return
    here = ".".join(map(str, sys.version_info[:2]))
    detail = f"Python {found['python']}, odradek {found['odradek']}"
    if found["python"] != here:
        advice = f"Set PYSPARK_PYTHON to a Python {here}, as the driver's."
        yield Finding("worker", False, f"{detail}; the driver has {here}", advice)
    else:
        yield Finding("worker", True, detail)
    if found["broker"]:
        advice = "The broker must be reached from Spark's machines, not only from here."
        yield Finding("worker: broker", False, found["broker"], advice)
    else:
        yield Finding("worker: broker", True, "a worker reaches a broker")


def _source(spark: SparkSession) -> Finding:
    try:
        spark.read.format("odradek").load()
    except Exception as error:
        return Finding(
            "source",
            False,
            f'format("odradek"): {_first_line(error)}',
            "Spark looks for it in the folders of its Python's path: install odradek"
            f" there ({install_command(_EXTRA)}); an editable install must be of the"
            " compat mode, as pyproject.toml has it.",
        )
    return Finding("source", True, 'Spark finds format("odradek")')


def _ask_worker(
    spark: SparkSession, addresses: Sequence[Address], access: Access
) -> list[tuple[str, str]]:
    """What a worker says of itself, as pairs."""
    hosts = tuple((each.host, each.port) for each in addresses)
    asked = _Question(hosts, access)
    rows = spark.range(1).mapInArrow(asked, "name string, said string").collect()
    return [(row["name"], row["said"]) for row in rows]


class _Question:
    """Runs in a worker: what Python it is, and what it can reach."""

    def __init__(self, addresses: Sequence[tuple[str, int]], access: Access) -> None:
        self._addresses = addresses
        self._access = access

    def __call__(self, batches: Iterator[object]) -> Iterator[object]:
        import pyarrow as pa

        for _ in batches:
            said = {
                "python": ".".join(map(str, sys.version_info[:2])),
                "odradek": _version("odradek") or "of a source folder",
                "broker": self._broker(),
            }
            yield pa.record_batch(
                {"name": list(said), "said": list(said.values())},
                pa.schema([("name", pa.string()), ("said", pa.string())]),
            )

    def _broker(self) -> str:
        """Why none can be reached; empty when one can."""
        from odradek.client.connection import Connection

        reasons = []
        for host, port in self._addresses:
            try:
                security = self._access.security()
                Connection(host, port, timeout_s=_TIMEOUT_S, security=security).close()
                return ""
            except Exception as error:
                reasons.append(f"{host}:{port}: {_first_line(error)}")
        return "; ".join(reasons)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("at ")]
    telling = [line for line in told if "Error" in line or "Exception: " in line]
    return (telling or told or [type(error).__name__])[0]
