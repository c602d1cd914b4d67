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
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.diagnosis import diagnose
from odradek.pipeline.security.access import OPEN, Access
from odradek.terminal.installation import install_command

from .executor_findings import ExecutorQuestions, examine_executors
from .finding import Finding, first_line

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


class ClusterNeeds(NamedTuple):
    """What else a cluster has to give: a shared folder, and the way to the driver."""

    path: str = ""
    driver_address: str = ""
    is_remote: bool = False


def examine(
    session: Callable[[], SparkSession] | None,
    addresses: Sequence[Address],
    timeout_s: float = _TIMEOUT_S,
    *,
    access: Access = OPEN,
    needs: ClusterNeeds | None = None,
) -> Iterator[Finding]:
    """All findings, the cheap ones first.

    Spark is only started when everything before it is well; None leaves it out.
    """
    is_ready, needs = True, needs or ClusterNeeds()
    of_spark = () if needs.is_remote else (java(), hostname())
    for finding in (*_packages(), *of_spark):
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
    yield from _spark(session, addresses, access, needs)


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
    session: Callable[[], SparkSession],
    addresses: Sequence[Address],
    access: Access,
    needs: ClusterNeeds,
) -> Iterator[Finding]:
    try:
        spark = session()
    except Exception as error:  # whatever Spark or Java comes up with
        yield Finding("Spark", False, first_line(error), "See what Java said above.")
        return
    master = spark.conf.get("spark.master", "") or "a server of Spark Connect"
    yield Finding("Spark", True, f"{spark.version} on {master}")
    yield _source(spark)
    asked = ExecutorQuestions(
        tuple((each.host, each.port) for each in addresses),
        access,
        needs.path,
        needs.driver_address,
    )
    yield from examine_executors(spark, asked)


def _source(spark: SparkSession) -> Finding:
    try:
        spark.read.format("odradek").load()
    except Exception as error:
        return Finding(
            "source",
            False,
            f'format("odradek"): {first_line(error)}',
            "Spark looks for it in the folders of its Python's path: install odradek"
            f" there ({install_command(_EXTRA)}); an editable install must be of the"
            " compat mode, as pyproject.toml has it.",
        )
    return Finding("source", True, 'Spark finds format("odradek")')
