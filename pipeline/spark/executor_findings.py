"""What each executor lacks, host by host, and what to do.

A job that a half of a cluster can do ends well by luck: Spark tries a task elsewhere.
So each executor is asked for itself, for all that a task may need there.
"""

from __future__ import annotations

import os
import pickle
import socket
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.terminal.installation import install_command

from .driver_address import driver_address
from .executor_round import ask_executors
from .finding import Finding, first_line
from .probe import Question, answer
from .task_failures import lacking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pyspark.sql import SparkSession

    from odradek.pipeline.security.access import Access

    from .executor_round import Answer, Asked

# All executors of a cluster have these, whatever the table.
_PACKAGES = ("odradek", "pyarrow", "numpy", "pandas")
_HOLD_S = 0.5
_PYTHON_ADVICE = (
    "Spark's workers run another Python, or do not have this package: install odradek"
    " there and set PYSPARK_PYTHON to that Python."
)


class ExecutorQuestions(NamedTuple):
    """What a task will need: brokers, a folder, the way to the driver."""

    brokers: tuple[tuple[str, int], ...]
    access: Access
    path: str = ""
    driver_address: str = ""


def examine_executors(
    spark: SparkSession, wanted: ExecutorQuestions
) -> Iterator[Finding]:
    """What all executors have and lack."""
    here = answer(Question(_PACKAGES))
    try:
        with _prepared(spark, wanted) as question:
            asked = ask_executors(spark, question)
    except OSError as error:
        yield Finding("worker", False, str(error), "Mend that first.")
        return
    except Exception as error:
        advice = lacking(str(error)) or _PYTHON_ADVICE
        yield Finding("worker", False, first_line(error), advice)
        return
    yield from findings_of(asked, here, wanted.path)


def findings_of(
    asked: Sequence[Asked], here: Mapping[str, Any], path: str = ""
) -> Iterator[Finding]:
    """What there is to say of their answers; ``here`` is the driver's own."""
    if not (len(asked) == 1 and asked[0].is_driver):
        hosts = len({each.host for each in asked})
        machines = "1 machine" if hosts == 1 else f"{hosts} machines"
        yield Finding("executors", True, f"{len(asked)} on {machines} were asked")
    for each in asked:
        yield from _of_process(each, here["python"], here["packages"])
    said = [(each, each.said) for each in asked if each.said is not None]
    yield from _of_brokers(said)
    yield from _of_driver(said)
    if path:
        yield from _of_path(said, path)


@contextmanager
def _prepared(spark: SparkSession, wanted: ExecutorQuestions) -> Iterator[Question]:
    """The question, while there is what it asks for: a port that listens, a file."""
    address = driver_address(spark, wanted.driver_address)
    try:
        listening = socket.create_server(address.listening, backlog=1024)
    except OSError as error:
        raise OSError(address.refused(error)) from None
    with listening, _shared_file(wanted.path) as (file, token):
        yield Question(
            _PACKAGES,
            wanted.brokers,
            pickle.dumps(wanted.access),
            (address.host, listening.getsockname()[1]),
            file,
            token,
            _HOLD_S,
        )


@contextmanager
def _shared_file(folder: str) -> Iterator[tuple[str, str]]:
    """A file that executors should see, and what it says."""
    if not folder:
        yield "", ""
        return
    token = uuid.uuid4().hex
    path = os.path.join(os.path.abspath(folder), f".odradek-doctor-{token}")
    try:
        with open(path, "x") as file:
            file.write(token)
    except OSError as error:
        raise OSError(f"--path {folder}: {error.strerror}") from None
    try:
        yield path, token
    finally:
        with suppress(OSError):
            os.unlink(path)


def _place(asked: Asked) -> str:
    """Where it is, as a beginning of a line; nothing for this process's own Spark."""
    if asked.is_driver:
        return ""
    name = f" (executor {asked.executor})" if asked.executor else ""
    return f"{asked.host}{name}: "


def _of_process(
    asked: Asked, python: str, packages: dict[str, str | None]
) -> Iterator[Finding]:
    place, said = _place(asked), asked.said
    if said is None:
        advice = lacking(asked.failure) or _PYTHON_ADVICE
        failure = first_line(Exception(asked.failure))
        yield Finding("worker", False, f"{place}{failure}", advice)
        return
    detail = f"{place}Python {said.python}, odradek {said.packages['odradek']}"
    missing = [name for name, version in said.packages.items() if version is None]
    if said.python != python:
        advice = f"Set PYSPARK_PYTHON to a Python {python}, as the driver's."
        yield Finding("worker", False, f"{detail}; the driver has {python}", advice)
    elif missing:
        lacks = ", ".join(f"no {name}" for name in missing)
        detail = f"{place}Python {said.python} at {said.executable}: {lacks}"
        advice = (
            f"{install_command('pipeline')}, for the Python that PYSPARK_PYTHON names"
        )
        yield Finding("worker", False, detail, f"On that machine: {advice}.")
    elif said.packages["odradek"] != packages["odradek"]:
        detail += f"; the driver has odradek {packages['odradek']}"
        yield Finding("worker", False, detail, "Install the same version on both.")
    else:
        yield Finding("worker", True, detail)


def _of_brokers(said: Sequence[tuple[Asked, Answer]]) -> Iterator[Finding]:
    check = "worker: broker"
    for asked, each in said:
        if each.broker:
            yield Finding(
                check,
                False,
                f"{_place(asked)}{each.broker}",
                "The broker must be reached from Spark's machines, not only from here.",
            )
    if said and not any(each.broker for _, each in said):
        yield Finding(check, True, f"{_all(said)} a broker")


def _of_driver(said: Sequence[tuple[Asked, Answer]]) -> Iterator[Finding]:
    """What `load` needs besides."""
    check = "worker: driver"
    for asked, each in said:
        if each.driver:
            yield Finding(
                check,
                False,
                f"{_place(asked)}{each.driver}",
                "Tasks of `load` and `replay` ask the driver before they send: give it"
                " a port that a firewall lets through (--driver-address :7777), and"
                " --conf spark.driver.host if Spark has a wrong name of this machine.",
            )
    if said and not any(each.driver for _, each in said):
        yield Finding(check, True, f"{_all(said)} the driver")


def _all(said: Sequence[tuple[Asked, Answer]]) -> str:
    return "a worker reaches" if len(said) == 1 else f"all {len(said)} reach"


def _of_path(said: Sequence[tuple[Asked, Answer]], folder: str) -> Iterator[Finding]:
    check = "worker: path"
    for asked, each in said:
        if each.shared:
            yield Finding(
                check,
                False,
                f"{_place(asked)}{each.shared} (as user {each.user})",
                "Tables lie in a folder that all machines of Spark share, under one"
                " path, and that the user of the executors may write to.",
            )
    if said and not any(each.shared for _, each in said):
        yield Finding(check, True, f"{folder}: seen, and written to")
