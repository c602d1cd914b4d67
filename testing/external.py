"""A Kafka that is there already, for tests that run on it as they run on ours.

Python has no client for it, so the commands of ``odradek`` make topics there and write
and read records. Whatever else is asked of it skips the test.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from unittest import SkipTest

from .broker import Broker
from .commands import TIMEOUT_S, run_command
from .errors import BrokerError, Refused
from .options import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

START_TIMEOUT = "30s"
_NO_ADDRESS = re.compile(r"argument --bootstrap-server: (?P<why>.*) \(see ")


class NotOffered(BrokerError, SkipTest):
    """What is asked only a broker for tests can do; pytest and unittest skip then."""


class ExternalBroker(Broker):
    """The cluster behind ``bootstrap``. Its topics, groups and files stay its own."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.topics = []
        self._keep = True
        # There is nothing of it here.
        self.directory = self.data_dir = Path(".")

    @property
    def bootstrap(self) -> str:
        """``host:port``, or several with commas."""
        return self._bootstrap

    @property
    def pid(self) -> None:
        """Nobody knows."""
        return None

    def start(self) -> Self:
        """Wait until it answers.

        Raises:
            BrokerError: it does not.
        """
        __tracebackhide__ = True  # pytest: what the command said is enough
        try:
            self._run("health", "--wait", START_TIMEOUT)
        except BrokerError as error:
            said = str(error).removeprefix("odradek health: ")
            wrong = _NO_ADDRESS.match(said)
            if wrong is not None:
                raise BrokerError(f"where Kafka is: {wrong['why']}") from None
            where = f"{self._bootstrap} (waited {START_TIMEOUT})"
            raise BrokerError(f"no Kafka answers at {where}: {said}") from None
        return self

    def close(self) -> None:
        """Leave it as it is."""

    def stop(self) -> NoReturn:
        """Skip the test."""
        self._skip("it cannot be stopped")

    def kill(self) -> NoReturn:
        """Skip the test."""
        self._skip("it cannot be killed")

    def log(self, since: int = 0) -> str:
        """Nothing: it is kept where the cluster is."""
        return ""

    def ask(self, request: str, **fields: Any) -> list[dict[str, Any]]:
        """As of any broker, as far as a command can answer it.

        Raises:
            Refused: the cluster says no.
            BrokerError: it does not answer.
            NotOffered: no command can answer this.
        """
        answers: dict[str, Callable[..., Iterable[dict[str, Any]]]] = {
            "topics.create": self._create,
            "topics.delete": self._delete,
            "records.append": self._append,
            "records.read": self._read,
            "replay": self._replay,
            "wait": self._wait,
        }
        if request not in answers:
            self._skip(f"it cannot be asked for {request}")
        return list(answers[request](**fields))

    def _create(self, topics: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
        for wanted in topics:
            options = texts(wanted.get("config"))
            given = [f"--config={name}={value}" for name, value in options.items()]
            if wanted.get("partitions") is not None:
                given += ["--partitions", str(wanted["partitions"])]
            lines = self._run("topic", "create", wanted["name"], *given)
            yield {"topic": wanted["name"], "partitions": lines[0]["partitions"]}

    def _delete(self, topics: Iterable[str]) -> Iterable[dict[str, Any]]:
        self._run("topic", "delete", *topics)
        return [{"topic": name} for name in topics]

    def _append(
        self,
        topic: str,
        records: Iterable[Mapping[str, Any]],
        partition: int | None = None,
    ) -> Iterable[dict[str, Any]]:
        where = () if partition is None else ("--partition", str(partition))
        lines = "".join(json.dumps(record) + "\n" for record in records)
        written = self._run("produce", topic, "--json-lines", *where, text=lines)
        return [
            {"partition": each["partition"], "offset": each["offset"] + number}
            for each in written
            for number in range(each["count"])
        ]

    def _read(self, topic: str, **which: Any) -> Iterable[dict[str, Any]]:
        """``partition``, ``from``, ``to``, ``last``, as a broker for tests has them."""
        given = {name: value for name, value in which.items() if value}
        if which.get("partition") is not None:
            topic = f"{topic}:{which['partition']}"
            given.pop("partition", None)
        begin, end = given.pop("from", None), given.pop("to", None)
        last = given.pop("last", None)
        if given:
            self._skip(f"it cannot be asked for records.read with {', '.join(given)}")
        where = [] if begin is None else [f"--offset={begin}"]
        where += [] if end is None else [f"--until={end}"]
        where += [] if last is None else [f"--offset=-{last}"]
        found = self._run("consume", topic, "--exit", *where)
        if last is None:
            return found
        return sorted(found, key=lambda record: record["timestamp"])[-last:]

    def _replay(self, **given: Any) -> Iterable[dict[str, Any]]:
        from .recording import command

        return command(run=self._run, **given)

    def _wait(
        self, until: str, timeout_ms: int = 10_000, **of: Any
    ) -> Iterable[dict[str, Any]]:
        """For records; a cluster tells nobody of anything else."""
        if until != "records":
            self._skip(f"it cannot be asked to wait for {until}")
        place = of["topic"]
        if of.get("partition") is not None:
            place = f"{place}:{of['partition']}"
        count = of.get("count", 1)
        try:
            self._run("consume", place, f"--count={count}", timeout_s=timeout_ms / 1000)
        except Refused as refused:
            if refused.word != "timeout":
                raise
            what = f"{place} has fewer than {count} records after {timeout_ms} ms"
            raise Refused("timeout", what) from None
        return []

    def _run(
        self,
        *arguments: str,
        text: str = "",
        timeout_s: float | None = TIMEOUT_S,
        end: str = "",
    ) -> list[dict[str, Any]]:
        command = [*arguments, "--json", "--bootstrap-server", self._bootstrap]
        output = run_command(command, text, timeout_s, end)
        return [json.loads(line) for line in output.splitlines()]

    def _skip(self, what: str) -> NoReturn:
        raise NotOffered(f"{self._bootstrap} is not a broker of this run: {what}")
