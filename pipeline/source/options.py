"""The options of ``format("odradek")``: those of ``format("kafka")``, and four more.

``path`` reads the segments of a data directory, ``mode=batches`` gives a row for each
batch, ``onCorrupt`` says what damage does, ``pushdown=true`` lets Spark hand filters
down. A value that is refused is refused before anything is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from odradek.client.address import Address, parse_addresses
from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.client.security.client_file import ClientFileError
from odradek.client.security.names import SecurityOptionError
from odradek.pipeline.errors import BadOption, SourceError, did_you_mean
from odradek.pipeline.records.damage import OnCorrupt
from odradek.pipeline.security.access import OPEN, Access

from .option_names import KAFKA_PREFIX, check_name
from .positions import (
    Everywhere,
    Position,
    forbids,
    read_offsets,
    read_places,
    read_time,
    read_times,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.protocol.topic_partition import TopicPartition

RECORDS = "records"
BATCHES = "batches"
# Twice what a consumer in Java takes; more does not stay in the caches of a core.
MAX_BYTES = 2 << 20
_TIMEOUT_MS = 30_000
_MAX_WAIT_MS = 500
_DELAY_MS = 15 * 60_000
_BOOLEANS = {"true": True, "false": False}
_DURATION = re.compile(r"(\d+)\s*([a-z]*)")
_UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_UNITS_MS["d"] = 24 * _UNITS_MS["h"]
_ISOLATION = {"read_uncommitted": False, "read_committed": True}
_ENDINGS = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_WHICH = ("assign", "subscribe", "subscribePattern")

_FROM_EARLIEST = Everywhere(EARLIEST)
_TO_LATEST = Everywhere(LATEST)

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Subscription:
    """Which partitions are read; one of the three is set."""

    places: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    pattern: str = ""

    def matches(self, topic: str) -> bool:
        """Whether the topic is one of them."""
        if self.pattern:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.named

    @property
    def named(self) -> tuple[str, ...]:
        """The topics that are named; none for a pattern."""
        return self.topics or tuple(sorted({place.topic for place in self.places}))


@dataclass(frozen=True)
class SourceOptions:
    """What was asked for. Sizes are bytes; None is what nobody said."""

    subscription: Subscription
    bootstrap: tuple[Address, ...] = ()
    path: str | None = None
    starting: Position = _FROM_EARLIEST
    ending: Position = _TO_LATEST
    starts_latest_without_match: bool = False
    fails_on_data_loss: bool = True
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = _DELAY_MS
    include_headers: bool = False
    committed: bool = False
    group_id: str | None = None
    client_id: str = "odradek-spark"
    timeout_ms: int = _TIMEOUT_MS
    max_bytes: int = MAX_BYTES
    max_wait_ms: int = _MAX_WAIT_MS
    mode: str = RECORDS
    on_corrupt: OnCorrupt = OnCorrupt.FAIL
    pushdown: bool = False
    access: Access = OPEN


def read_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of a batch read.

    Raises:
        BadOption: which option cannot be so, and why.
    """
    reader = _Reader(given)
    options = replace(
        reader.common(),
        starting=reader.starting(_FROM_EARLIEST),
        ending=reader.ending(),
    )
    forbids("startingOffsets", options.starting, LATEST, "in a batch")
    forbids("endingOffsets", options.ending, EARLIEST, "in a batch")
    return options


def read_stream_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of a stream, which by default starts with what comes next.

    Raises:
        BadOption: which option cannot be so, and why.
    """
    reader = _Reader(given)
    for name in _ENDINGS:
        if reader.has(name):
            raise BadOption(name, "is for batches; a stream has no end.")
    if reader.has("pushdown"):
        raise BadOption("pushdown", "is for batches.")
    options = replace(reader.common(), starting=reader.starting(_TO_LATEST))
    if not options.bootstrap:
        text = "a stream needs the broker too: give kafka.bootstrap.servers."
        raise BadOption("path", text)
    least, most = options.min_offsets_per_trigger, options.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise BadOption(
            "minOffsetsPerTrigger",
            f"is {least}, more than maxOffsetsPerTrigger {most}.",
        )
    return options


def wanted_mode(given: Mapping[str, str]) -> tuple[str, bool]:
    """The mode, and whether headers are wanted: what the schema depends on."""
    reader = _Reader(given)
    return reader.mode(), reader.flag("includeHeaders", False)


class _Reader:
    """Options of which every name has been checked, taken by name."""

    def __init__(self, given: Mapping[str, str]) -> None:
        for name in given:
            check_name(name)
        self._given = {name.lower(): value for name, value in given.items()}

    def has(self, name: str) -> bool:
        return name.lower() in self._given

    def common(self) -> SourceOptions:
        path, access = self._given.get("path"), self._access()
        return SourceOptions(
            subscription=self._subscription(path),
            bootstrap=self._bootstrap(path, access),
            path=path,
            starts_latest_without_match=self._strategy(),
            fails_on_data_loss=self.flag("failOnDataLoss", True),
            min_partitions=self._at_least("minPartitions", 1),
            max_records_per_partition=self._at_least("maxRecordsPerPartition", 1),
            max_offsets_per_trigger=self._at_least("maxOffsetsPerTrigger", 1),
            min_offsets_per_trigger=self._at_least("minOffsetsPerTrigger", 1),
            max_trigger_delay_ms=self._duration_ms("maxTriggerDelay", _DELAY_MS),
            include_headers=self.flag("includeHeaders", False),
            committed=self._one_of("kafka.isolation.level", _ISOLATION, False),
            group_id=self._given.get("kafka.group.id") or None,
            client_id=self._given.get("kafka.client.id") or SourceOptions.client_id,
            timeout_ms=self._number("kafka.request.timeout.ms", _TIMEOUT_MS),
            max_bytes=self._max_bytes(),
            max_wait_ms=self._number("kafka.fetch.max.wait.ms", _MAX_WAIT_MS),
            mode=self.mode(),
            on_corrupt=self._one_of(
                "onCorrupt", {each.value: each for each in OnCorrupt}, OnCorrupt.FAIL
            ),
            pushdown=self.flag("pushdown", False),
            access=access,
        )

    def starting(self, default: Position) -> Position:
        return self._position("starting") or default

    def ending(self) -> Position:
        return self._position("ending") or _TO_LATEST

    def _position(self, which: str) -> Position | None:
        # In this order, as the connector has it.
        readers: dict[str, Callable[[str, str], Position]] = {
            f"{which}Timestamp": read_time,
            f"{which}OffsetsByTimestamp": read_times,
            f"{which}Offsets": read_offsets,
        }
        for name, read in readers.items():
            if self.has(name):
                return read(name, self._given[name.lower()])
        return None

    def mode(self) -> str:
        return self._one_of("mode", {RECORDS: RECORDS, BATCHES: BATCHES}, RECORDS)

    def flag(self, name: str, default: bool) -> bool:
        return self._one_of(name, _BOOLEANS, default)

    def _subscription(self, path: str | None) -> Subscription:
        named = [name for name in _WHICH if self.has(name)]
        if not named and path is not None:
            return Subscription(pattern=".*")
        if len(named) != 1:
            text = f"{' and '.join(named)} are set" if named else "none of them is set"
            raise SourceError(
                f"One of the options {', '.join(_WHICH)} says what to read; {text}."
            )
        (name,) = named
        value = self._given[name.lower()]
        if name == "assign":
            return Subscription(places=read_places(name, value))
        if name == "subscribe":
            topics = [part.strip() for part in value.split(",") if part.strip()]
            if not topics:
                raise BadOption(name, "names no topic; write topic1,topic2.")
            return Subscription(topics=tuple(sorted(set(topics))))
        try:
            re.compile(value)
        except re.error as error:
            raise BadOption(name, f"{value!r}: {error}.") from None
        if not value.strip():
            raise BadOption(name, "is empty; write .* for all topics.")
        return Subscription(pattern=value)

    def _access(self) -> Access:
        given = {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in self._given.items()
            if name.startswith(KAFKA_PREFIX)
        }
        try:
            return Access.of(given, self._given.get("commandconfig", "").strip())
        except SecurityOptionError as error:
            raise BadOption(KAFKA_PREFIX + error.option, f"{error.reason}.") from None
        except ClientFileError as error:
            raise BadOption("commandConfig", f"{error}.") from None

    def _bootstrap(self, path: str | None, access: Access) -> tuple[Address, ...]:
        name = "kafka.bootstrap.servers"
        value = self._given.get(name) or (access.bootstrap_servers() or None)
        if value is None:
            if path is not None:
                return ()
            raise BadOption(name, "says where the brokers are: host:port,host:port.")
        try:
            return tuple(parse_addresses(value))
        except ValueError as error:
            raise BadOption(name, f"{error}.") from None

    def _strategy(self) -> bool:
        name = "startingOffsetsByTimestampStrategy"
        return self._one_of(name, {"error": False, "latest": True}, False)

    def _max_bytes(self) -> int:
        most = self._number("kafka.max.partition.fetch.bytes", MAX_BYTES)
        return min(most, self._number("kafka.fetch.max.bytes", most))

    def _one_of(
        self, name: str, values: Mapping[str, _Value], default: _Value
    ) -> _Value:
        text = self._given.get(name.lower())
        if text is None:
            return default
        if text.strip().lower() not in values:
            choice = " or ".join(values)
            hint = did_you_mean(text, list(values))
            raise BadOption(name, f"is {choice}, and not {text!r}.{hint}")
        return values[text.strip().lower()]

    def _at_least(self, name: str, least: int) -> int | None:
        return self._number(name, least) if self.has(name) else None

    def _number(self, name: str, default: int) -> int:
        text = self._given.get(name.lower())
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = 0
        if number < 1:
            raise BadOption(name, f"is a number of at least 1, and not {text!r}.")
        return number

    def _duration_ms(self, name: str, default: int) -> int:
        text = self._given.get(name.lower())
        if text is None:
            return default
        found = _DURATION.fullmatch(text.strip().lower())
        if found is None or found[2] not in _UNITS_MS:
            raise BadOption(name, f"is a time like 30s or 15m, and not {text!r}.")
        return int(found[1]) * _UNITS_MS[found[2]]
