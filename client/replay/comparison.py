"""Two answers, field by field: the one that was recorded, and the one that came.

What cannot be the same in another run is looked at as far as it can be:

- ids that a broker gives are learned (`Ids`): a pair once is a pair ever after;
- records of today are as much later as the whole replay is; the broker's own times,
  sizes and messages are there, or are not;
- where a broker is, how it is numbered and what it offers is its own.

Parts of a list that have a name or a number are found by that, in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.protocol.error_fields import is_error_code
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.protocol.schema import Struct
from odradek.protocol.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.record_batch import BatchHeader

    from .ids import Ids


class FieldDifference(NamedTuple):
    """Where an answer is another one: ``.responses[0].error_code``."""

    path: str
    recorded: Any
    found: Any


def _is_positive(value: Any) -> bool:
    return bool(value > 0)


# How much of a field is compared.
SEEN_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(
        (
            "batch_index_error_message",
            "error_message",
            "host",
            "log_dir",
            "rack",
            "subscription_id",
            "throttle_time_ms",
        ),
        lambda value: None,
    ),
    **dict.fromkeys(
        (
            "last_caught_up_timestamp",
            "last_fetch_timestamp",
            "last_timestamp",
            "log_append_time_ms",
            "max_timestamp",
            "port",
            "session_lifetime_ms",
            "timestamp",
            "total_bytes",
            "transaction_start_time_ms",
            "usable_bytes",
        ),
        _is_positive,
    ),
    # Brokers, by their numbers.
    **dict.fromkeys(
        (
            "broker_id",
            "controller_id",
            "leader_id",
            "node_id",
            "preferred_read_replica",
        ),
        lambda value: value < 0,
    ),
    **dict.fromkeys(
        (
            "api_keys",
            "brokers",
            "cluster_id",
            "eligible_leader_replicas",
            "finalized_features",
            "finalized_features_epoch",
            "isr_nodes",
            "last_known_elr",
            "node_endpoints",
            "offline_replicas",
            "replica_nodes",
            "supported_features",
        ),
        lambda value: None,
    ),
}
# What tells the parts of a list apart, the clearest first.
_KEYS: Final = (
    "group_id",
    "transactional_id",
    "member_id",
    "producer_id",
    "topic_id",
    "name",
    "topic",
    "topic_name",
    "resource_name",
    "key",
    "partition_index",
    "partition",
    "index",
)


class Comparison:
    """Finds differences; ``later_ms`` is how much later records are than they were."""

    def __init__(self, ids: Ids, later_ms: int, mask: Iterable[str] = ()) -> None:
        """``mask``: the names of fields, or the ends of their paths (``a.b``)."""
        self._ids = ids
        self._later_ms = later_ms
        self._mask = [tuple(path.split(".")) for path in mask]

    def differences(
        self, recorded: Struct, found: Struct, version: int
    ) -> Iterator[FieldDifference]:
        """Every field in which they are not the same."""
        yield from self._of_parts("", (), recorded, found, version)

    def _of_parts(
        self,
        path: str,
        names: tuple[str, ...],
        recorded: Struct,
        found: Struct,
        version: int,
    ) -> Iterator[FieldDifference]:
        for field in recorded.fields:
            name = field.name
            here = (*names, name)
            if not field.versions.cover(version) or self._is_masked(here):
                continue
            pair = getattr(recorded, name), getattr(found, name)
            place = f"{path}.{name}"
            if field.kind == "records":
                yield from self._of_records(place, *pair)
            elif name in SEEN_AS:
                seen = SEEN_AS[name]
                if None not in pair and seen(pair[0]) != seen(pair[1]):
                    yield _difference(place, name, *pair)
            else:
                yield from self._of_values(place, here, *pair, version)

    def _of_values(
        self,
        path: str,
        names: tuple[str, ...],
        recorded: Any,
        found: Any,
        version: int,
    ) -> Iterator[FieldDifference]:
        if isinstance(recorded, Struct) and isinstance(found, Struct):
            yield from self._of_parts(path, names, recorded, found, version)
        elif isinstance(recorded, list) and isinstance(found, list):
            if len(recorded) != len(found):
                lengths = len(recorded), len(found)
                yield FieldDifference(f"{path}.length", *lengths)
            for place, one, other in self._paired(recorded, found):
                where = f"{path}[{place}]"
                yield from self._of_values(where, names, one, other, version)
        elif not self._is_same(names[-1], recorded, found):
            yield _difference(path, names[-1], recorded, found)

    def _is_masked(self, names: tuple[str, ...]) -> bool:
        return any(names[-len(masked) :] == masked for masked in self._mask)

    def _is_same(self, name: str, recorded: Any, found: Any) -> bool:
        recorded, found = _plain(recorded), _plain(found)
        if self._ids.is_id(name, recorded) and None not in (recorded, found):
            return self._ids.is_pair(name, recorded, found)
        return bool(recorded == found)

    def _paired(
        self, recorded: Sequence[Any], found: Sequence[Any]
    ) -> Iterator[tuple[Any, Any, Any]]:
        """What belongs together, and where that is: a name, or a number."""
        name = self._key_of(recorded, found)
        if name is None:
            for number, pair in enumerate(zip(recorded, found, strict=False)):
                yield number, *pair
            return
        by_key = {getattr(each, name): each for each in found}
        for each in recorded:
            key = getattr(each, name)
            ours = self._ids.ours(name, key) if self._ids.is_id(name, key) else key
            if ours in by_key:
                yield _shown(key), each, by_key[ours]
            else:
                yield _shown(key), _shown(key), None

    def _key_of(self, recorded: Sequence[Any], found: Sequence[Any]) -> str | None:
        """The field by which parts of these lists are found; None: their order."""
        if not (recorded and found and isinstance(recorded[0], Struct)):
            return None
        for name in _KEYS:
            if not hasattr(recorded[0], name):
                continue
            theirs = [getattr(each, name) for each in recorded]
            ours = [getattr(each, name) for each in found]
            if any(key in (None, "", ZERO_UUID) for key in (*theirs, *ours)):
                continue  # one that this version does not have
            if self._ids.is_id(name, theirs[0]) and not all(
                self._ids.knows(name, key) for key in theirs
            ):
                continue
            is_clear = len({*theirs}) == len(theirs) and len({*ours}) == len(ours)
            return name if is_clear else None
        return None

    def _of_records(
        self, path: str, recorded: Buffer | None, found: Buffer | None
    ) -> Iterator[FieldDifference]:
        theirs = self._rows(recorded, self._later_ms)
        ours = self._rows(found, 0)
        if len(theirs) != len(ours):
            yield FieldDifference(f"{path}.length", len(theirs), len(ours))
        for number, (one, other) in enumerate(zip(theirs, ours, strict=False)):
            # The same producer, by its id of now.
            is_same = self._is_same("producer_id", one["producer"], other["producer"])
            if not is_same or one != other | {"producer": one["producer"]}:
                yield FieldDifference(f"{path}[{number}]", one, other)

    def _rows(self, data: Buffer | None, later_ms: int) -> list[dict[str, Any]]:
        """The records, or the bytes of what cannot be read."""
        if not data:
            return []
        try:
            batches = list(scan(data))
            return [
                row
                for position, header in batches
                for row in _rows_of(header, memoryview(data)[position:], later_ms)
            ]
        except KafkaError:
            return [{"producer": -1, "bytes": _shown(bytes(data))}]


def _rows_of(
    header: BatchHeader, batch: memoryview, later_ms: int
) -> Iterator[dict[str, Any]]:
    is_clients = not (header.is_control or header.is_log_append_time)
    for record in iterate(batch[: header.size]):
        row: dict[str, Any] = {
            "offset": record.offset,
            "key": _shown(record.key),
            "producer": header.producer_id,
        }
        if header.is_control:  # its value is the coordinator's own
            yield row | {"is_control": True}
            continue
        row |= {"value": _shown(record.value), "is_transactional": False}
        row["is_transactional"] = header.is_transactional
        if record.headers:
            row["headers"] = [[name, _shown(value)] for name, value in record.headers]
        if is_clients and record.timestamp >= 0:
            row["timestamp"] = record.timestamp + later_ms
        yield row


def _difference(path: str, name: str, recorded: Any, found: Any) -> FieldDifference:
    if is_error_code(name):
        return FieldDifference(path, _code(recorded), _code(found))
    return FieldDifference(path, _shown(recorded), _shown(found))


def _code(value: Any) -> Any:
    try:
        return ErrorCode(value).name
    except ValueError:
        return value


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _shown(value: Any) -> Any:
    """For people, and for JSON."""
    value = _plain(value)
    if isinstance(value, Struct):
        return repr(value)
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return to_text(value) if len(value) == len(ZERO_UUID) else value.hex()
