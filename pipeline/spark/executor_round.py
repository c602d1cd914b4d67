"""Each executor of a session, asked the same question.

Nobody can send a task to a certain executor. So there are rounds of as many tasks as
run at once, and each stays a while, until every executor that Spark knows has answered
or has failed. Which one a task ran on, and why it failed, Spark's own records say.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.job_errors import JobError

from .executor_watch import NO_EXECUTOR
from .executors import Executors, context_of, is_cluster
from .probe import answer
from .status import DRIVER, SparkRecords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from .probe import Question
    from .status import ExecutorNote, TaskNote

_ROUNDS_MAX = 6
_TASKS_MAX = 512
_TASKS_OF_CONNECT = 16
_PATIENCE_S = 60.0


class Answer(NamedTuple):
    """What is on a machine; what is empty is well, or was not asked for."""

    host: str
    process: int
    python: str
    executable: str
    user: int
    packages: dict[str, str | None]
    broker: str = ""
    driver: str = ""
    shared: str = ""


class Asked(NamedTuple):
    """An executor: where it is, and what it said, or why it said nothing."""

    executor: str
    host: str
    said: Answer | None
    failure: str = ""

    @property
    def is_driver(self) -> bool:
        """Whether it is the only one, in the process of Spark's driver."""
        return self.executor == DRIVER


def ask_executors(spark: SparkSession, question: Question) -> list[Asked]:
    """What all of them say; by Spark Connect, those that happened to be asked.

    Raises:
        JobError: there is no executor.
        PySparkException: Spark runs no task at all.
    """
    context = context_of(spark)
    with _pickled_whole():
        if context is None:
            return _of_connect(Executors(spark), question)
        return Rounds(context, Executors(spark), question).asked()


@contextmanager
def _pickled_whole() -> Iterator[None]:
    """The probe goes to executors with its code: they may not have ours."""
    from pyspark import cloudpickle

    from . import probe

    cloudpickle.register_pickle_by_value(probe)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(probe)  # type: ignore[no-untyped-call]


def _of_connect(executors: Executors, question: Question) -> list[Asked]:
    found = {}
    for told in executors.run(answer, [question] * _TASKS_OF_CONNECT):
        said = Answer(**told)
        found[said.host, said.process] = Asked("", said.host, said)
    return list(found.values())


class Rounds:
    """The rounds of one question."""

    def __init__(
        self,
        context: SparkContext,
        executors: Executors,
        question: Question,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._context = context
        self._status = SparkRecords(context)
        self._executors = executors
        self._question = question
        self._patience_s = patience_s
        self._is_cluster = is_cluster(str(context.master))
        self._found: dict[str, Asked] = {}

    def asked(self) -> list[Asked]:
        """What all executors say that Spark knows, in the order of their hosts.

        Raises:
            JobError: there is none.
            PySparkException: no task runs.
        """
        for _ in range(_ROUNDS_MAX):
            before = len(self._found)
            failure = self._round()
            if failure is not None and not self._found:
                raise failure
            # Executors may come late: there is a round in which nobody is new.
            has_news = self._is_cluster and len(self._found) > before
            if not has_news and self._known().keys() <= self._found.keys():
                break
        known = self._known()
        for executor in known.keys() - self._found.keys():
            reason = f"it was given no task in {_ROUNDS_MAX} rounds of them"
            self._found[executor] = Asked(executor, known[executor].host, None, reason)
        return sorted(self._found.values(), key=lambda each: (each.host, each.executor))

    def _known(self) -> dict[str, ExecutorNote]:
        """The executors that are there now."""
        known = {each.executor: each for each in self._status.executors()}
        if self._is_cluster:
            known.pop(DRIVER, None)
        return known

    def _round(self) -> Exception | None:
        """Ask once; what the job failed with, if it did."""
        cores = sum(each.cores for each in self._known().values())
        count = min(max(cores, 1), _TASKS_MAX) if self._is_cluster else 1
        group, failure = f"odradek-doctor-{uuid.uuid4().hex}", None
        self._context.setJobGroup(group, "odradek pipeline doctor")
        said: list[Answer] = []
        try:
            with self._given_up(group):
                told = self._executors.run(answer, [self._question] * count)
            said = [Answer(**each) for each in told]
        except Exception as error:
            failure = error
        for task in self._status.tasks_of_group(group):
            self._note(task, said)
        return failure

    @contextmanager
    def _given_up(self, group: str) -> Iterator[None]:
        """Do not wait for ever for a cluster that gives no executor."""
        has_none = threading.Event()

        def look() -> None:
            if not self._known():
                has_none.set()
                self._context.cancelJobGroup(group)

        timer = threading.Timer(self._patience_s, look)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if not has_none.is_set():
                raise
            raise JobError(
                f"no executor has come in {self._patience_s:g} s: {NO_EXECUTOR}"
            ) from error
        finally:
            timer.cancel()

    def _note(self, task: TaskNote, said: list[Answer]) -> None:
        executor, host = task.executor, task.host
        if task.failure:
            self._found[executor] = Asked(executor, host, None, task.failure)
        elif task.is_done and said and executor not in self._found:
            self._found[executor] = Asked(executor, host, said[task.number])
