"""What the doctor says of executors that lack something."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.pipeline.security.access import OPEN
from odradek.pipeline.spark.executor_findings import (
    ExecutorQuestions,
    examine_executors,
    findings_of,
)
from odradek.pipeline.spark.executor_round import Answer, Asked
from odradek.pipeline.spark.finding import Finding
from odradek.pipeline.spark.probe import Question, answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = answer(Question(("odradek", "pyarrow", "numpy", "pandas")))
WELL = Answer(**{**HERE, "host": "a", "packages": {**HERE["packages"]}})


def asked(number: str, host: str, **differs: object) -> Asked:
    said = WELL._replace(**differs)  # type: ignore[arg-type]
    return Asked(number, host, said._replace(host=host))


def problems(*executors: Asked, path: str = "") -> list[Finding]:
    found = list(findings_of(list(executors), HERE, path))
    return [each for each in found if not each.is_ok]


def test_a_cluster_that_is_well() -> None:
    executors = [asked("0", "a"), asked("1", "a"), asked("2", "b")]
    found = [each.detail for each in findings_of(executors, HERE, "/lake")]
    version = f"Python {WELL.python}, odradek {WELL.packages['odradek']}"
    assert found == [
        "3 on 2 machines were asked",
        f"a (executor 0): {version}",
        f"a (executor 1): {version}",
        f"b (executor 2): {version}",
        "all 3 reach a broker",
        "all 3 reach the driver",
        "/lake: seen, and written to",
    ]


def test_packages_and_pythons() -> None:
    bare = {**WELL.packages, "odradek": None, "pyarrow": None}
    old = {**WELL.packages, "odradek": "0.0.1"}
    found = problems(
        asked("0", "a"),
        asked("1", "b", packages=bare, executable="/usr/bin/python3"),
        asked("2", "c", packages=old),
        asked("3", "d", python="2.7"),
    )
    assert [each.check for each in found] == ["worker"] * 3
    assert "b (executor 1): " in found[0].detail
    assert found[0].detail.endswith("at /usr/bin/python3: no odradek, no pyarrow")
    assert "pip install" in found[0].advice
    assert "c (executor 2): " in found[1].detail
    assert "odradek 0.0.1; the driver has odradek " in found[1].detail
    assert found[2].detail.startswith("d (executor 3): Python 2.7, ")
    assert found[2].advice.startswith(f"Set PYSPARK_PYTHON to a Python {WELL.python}")


def test_an_executor_whose_python_does_not_start() -> None:
    reason = 'java.io.IOException: Cannot run program "/no/python": error=2\n at x'
    (found,) = problems(asked("0", "a"), Asked("1", "b", None, reason))
    assert found.detail == f"b (executor 1): {reason.splitlines()[0]}"
    assert "has no Python at /no/python" in found.advice


def test_what_cannot_be_reached_from_there() -> None:
    there = asked("0", "a")
    (found,) = problems(there, asked("1", "b", broker="kafka:9092: refused"))
    assert found[:3] == ("worker: broker", False, "b (executor 1): kafka:9092: refused")
    (found,) = problems(there, asked("1", "b", driver="here:7777: timed out"))
    assert found[:3] == (
        "worker: driver",
        False,
        "b (executor 1): here:7777: timed out",
    )
    assert "--driver-address :7777" in found.advice
    unseen = asked("1", "b", shared="/lake/x: No such file or directory", user=185)
    (found,) = problems(there, unseen, path="/lake")
    assert found.detail == (
        "b (executor 1): /lake/x: No such file or directory (as user 185)"
    )
    assert "one path" in found.advice


def questions(path: str = "", address: str = "") -> ExecutorQuestions:
    return ExecutorQuestions((), OPEN, path, address)


def test_a_spark_of_one_process(spark: "SparkSession", tmp_path: Path) -> None:
    found = list(examine_executors(spark, questions(str(tmp_path))))
    assert [each for each in found if not each.is_ok] == []
    assert [each.check for each in found] == [
        "worker",
        "worker: broker",
        "worker: driver",
        "worker: path",
    ]
    assert found[1].detail == "a worker reaches a broker"
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_here(spark: "SparkSession") -> None:
    (found,) = examine_executors(spark, questions("/no/such/folder"))
    assert not found.is_ok
    assert found.detail == "--path /no/such/folder: No such file or directory"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (found,) = examine_executors(spark, questions(address=f":{port}"))
    assert not found.is_ok
    assert f"cannot listen on 127.0.0.1:{port}: Address already" in found.detail
