from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from odradek.client.address import Address
from odradek.pipeline.spark import doctor
from odradek.pipeline.spark.doctor import ClusterNeeds, examine, java
from odradek.pipeline.spark.finding import Finding
from tests.broker_process import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_all_is_well(spark: "SparkSession", broker_process: BrokerProcess) -> None:
    address = Address("127.0.0.1", broker_process.port)
    found = list(examine(lambda: spark, [address]))
    assert [each for each in found if not each.is_ok] == []
    checks = [each.check for each in found]
    assert {"pyspark", "pandas", "Java", "host name", "broker: metadata"} <= set(checks)
    workers = ["worker", "worker: broker", "worker: driver"]
    assert checks[-5:] == ["Spark", "source", *workers]


def java_of(tmp_path: Path, says: str) -> Finding:
    (tmp_path / "bin").mkdir(exist_ok=True)
    path = tmp_path / "bin" / "java"
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)
    return java(str(tmp_path))


@pytest.mark.parametrize(
    ("says", "is_ok", "detail"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True, "17 ("),
        ('openjdk version "21" 2023-09-19', True, "21 ("),
        ('java version "1.8.0_402"', False, "is Java 8; Spark needs 17"),
        ("gibberish", False, "does not say its version"),
    ],
)
def test_java(tmp_path: Path, says: str, is_ok: bool, detail: str) -> None:
    finding = java_of(tmp_path, says)
    assert finding.is_ok == is_ok
    assert detail in finding.detail
    assert bool(finding.advice) != is_ok


def test_no_java(tmp_path: Path) -> None:
    finding = java(str(tmp_path))
    assert finding.detail == f"JAVA_HOME is {tmp_path}, where there is none"
    assert "openjdk-17" in finding.advice


@pytest.mark.parametrize(
    ("version", "detail"),
    [
        (None, "not installed"),
        ("4.1.2", "4.1.2; it must be 4.2 or later, before 4.4"),
        ("5.0.0", "5.0.0; it must be 4.2 or later, before 4.4"),
    ],
)
def test_packages_and_spark_is_not_tried(
    version: str | None, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = doctor._version
    monkeypatch.setattr(
        doctor, "_version", lambda name: version if name == "pyspark" else known(name)
    )
    nobody = Address("no-such-host.invalid", 1)
    found = {each.check: each for each in examine(_never, [nobody], 1)}
    assert found["pyspark"][1:3] == (False, detail)
    assert "pip install" in found["pyspark"].advice
    assert not found["broker: name"].is_ok
    assert found["Spark"].detail.startswith("not tried")


def _never() -> "SparkSession":
    raise AssertionError("it should not be started")


def test_a_spark_that_does_not_start() -> None:
    def broken() -> "SparkSession":
        raise RuntimeError("first line\n  JavaError: no memory\nat x")

    *_, last = examine(broken, [Address("no-such-host.invalid", 1)], 1)
    assert last[:3] == ("Spark", False, "JavaError: no memory")


def test_a_worker_that_cannot_reach_the_broker(spark: "SparkSession") -> None:
    found = {
        each.check: each
        for each in examine(lambda: spark, [Address("127.0.0.1", 1)], 1)
    }
    assert not found["worker: broker"].is_ok
    assert "127.0.0.1:1: " in found["worker: broker"].detail


def test_a_spark_elsewhere_needs_no_java_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Spark Connect."""

    def broken() -> "SparkSession":
        raise RuntimeError("no server")

    monkeypatch.setenv("JAVA_HOME", "/no/java")
    needs = ClusterNeeds(is_remote=True)
    found = [each.check for each in examine(broken, [], 1, needs=needs)]
    assert found[-1] == "Spark"
    assert not {"Java", "host name"} & set(found)


class BlindSpark:
    """A session that finds no source of ours."""

    def __init__(self) -> None:
        self.read = self

    def format(self, _: str) -> "BlindSpark":
        return self

    def load(self) -> None:
        raise RuntimeError("o1:\nx.NotFoundException: [NOT_FOUND]\nat dataSourceError")


def test_a_spark_that_does_not_find_the_source() -> None:
    found = doctor._source(cast("SparkSession", BlindSpark()))
    assert found[:2] == ("source", False)
    assert "[NOT_FOUND]" in found.detail
    assert "pip install" in found.advice
