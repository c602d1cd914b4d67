"""A topic of a test: its name, and what a test does with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .aio import Aio
from .errors import WaitTimeout
from .records import Record, all_to_json, check, dump, from_json
from .waits import TIMEOUT_S

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Self

    from .broker import Broker


# Which records, as `Topic.records` is told.
_WHICH = ("partition", "from_", "to", "last", "control", "aborted", "open")


class Topic(str):
    """The name of a topic, to be used wherever a name is wanted."""

    __slots__ = ("broker", "partitions")

    broker: Broker
    partitions: int

    @classmethod
    def of(cls, broker: Broker, name: str, partitions: int) -> Self:
        """The topic of that name, which ``broker`` has."""
        topic = cls(name)
        topic.broker, topic.partitions = broker, partitions
        return topic

    @property
    def aio(self) -> Aio:
        """The same methods, each to be awaited."""
        return Aio(self)

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | None = None,
        value: str | None = None,
        timestamp: str | None = None,
    ) -> int:
        """Write the rows of a file (.jsonl, .csv, .parquet) to it; how many.

        ``key``, ``value``, ``timestamp``: the columns that they are in. Without one for
        the value the row is, as JSON. Lines that `dump` has written become the same
        records again.

        Raises:
            ValueError: the file cannot be read; nothing is written.
        """
        from .golden import load

        return load(self, path, key=key, value=value, timestamp=timestamp)

    def dump(self, path: str | os.PathLike[str]) -> int:
        """Write its records to a file, a line of JSON each; how many.

        Raises:
            ValueError: the file is not called .jsonl.
        """
        from .golden import dump

        return dump(self, path)

    def produce(
        self, records: Iterable[Any], *, partition: int | None = None
    ) -> list[tuple[int, int]]:
        """Write records without a client; the partition and offset of each.

        A record is a value, a pair of key and value, or an object with fields (see
        `odradek.testing.records`). Each goes where Java's client would write its key;
        those without a key go to one partition after the other.

        Raises:
            ValueError: something is no record.
            Refused: they cannot be written.
        """
        sent = all_to_json(records)
        fields = {} if partition is None else {"partition": partition}
        items = self.broker.ask("records.append", topic=self, records=sent, **fields)
        return [(item["partition"], item["offset"]) for item in items]

    def records(
        self, count: int | None = None, *, timeout: float = TIMEOUT_S, **which: Any
    ) -> list[Record]:
        """What a committed reader sees, by partition and offset.

        With ``count`` it waits until there are so many, and returns all that there
        are. ``which``: ``partition``; ``from_`` and ``to``, offsets; ``last``, so many
        of the last ones; ``control``, ``aborted``, ``open`` to be shown these, too.

        Raises:
            WaitTimeout: there are fewer; the message shows them.
            TypeError: ``which`` has a name that is none of these.
        """
        for name in which:
            if name not in _WHICH:
                names = ", ".join(("count", "timeout", *_WHICH))
                raise TypeError(f"records() has no {name!r}: it has {names}")
        if count:
            try:
                self.broker.wait.records(
                    self, count, partition=which.get("partition"), timeout=timeout
                )
            except WaitTimeout as error:
                there = dump(self._read(which))
                raise WaitTimeout(f"{error}\nthere are:\n{there}") from None
        return self._read(which)

    def delete(self) -> None:
        """Delete it; its files are gone when this returns."""
        self.broker.ask("topics.delete", topics=[self])

    def _read(self, which: dict[str, Any]) -> list[Record]:
        fields = {name.rstrip("_"): value for name, value in which.items()}
        return [
            from_json(item)
            for item in self.broker.ask("records.read", topic=self, **fields)
        ]


def assert_records(
    topic: Topic,
    expected: Iterable[Any],
    *,
    ordered: str | bool = "key",
    timeout: float = TIMEOUT_S,
) -> None:
    """A topic has these records, and no others; waits until there are as many.

    Of each record only what is said of it is compared. ``ordered``: "key", records of
    one key come in this order, as Kafka promises; True, all of them, by partition and
    offset; False, in any order.

    Raises:
        AssertionError: it has others; the message shows them.
    """
    wanted = list(expected)
    try:
        records = topic.records(len(wanted), timeout=timeout)
    except WaitTimeout:
        records = topic.records()
    check(records, wanted, ordered, topic)
