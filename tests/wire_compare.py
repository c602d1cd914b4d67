"""Compare two answers field by field: Apache Kafka's, as recorded, and ours.

Ids that differ from run to run are learned: the first time that the recording has an
id where we have another, they are a pair, and must be a pair ever after.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from odradek.protocol.messages.consumer_groups import ConsumerGroupMember
from odradek.protocol.messages.group_admin import ListedGroup
from odradek.protocol.messages.share_fetch import ShareAcknowledgePartitionData
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsResponseTopic,
    DescribeShareGroupOffsetsResponseTopic,
)
from odradek.protocol.record_batch import read_header, restamp_time, scan
from odradek.protocol.schema import Struct
from odradek.protocol.uuids import ZERO_UUID

BASE_TIMESTAMP_POSITION = 27
PRODUCER_ID_POSITION = 43


class Difference(NamedTuple):
    """A field in which our answer is not Apache Kafka's.

    ``path`` leads to it, as in ``.topics.0.name``; ``error_code`` is the one that
    stands beside it in our answer.
    """

    path: str
    kafka: Any
    ours: Any
    error_code: int = 0


# What differs from run to run, or is ours to word: only this much is compared.
SEEN_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "throttle_time_ms": lambda value: None,
    "port": lambda value: value > 0,
    "host": bool,
    "log_dir": bool,
    "total_bytes": lambda value: value > 0,
    "usable_bytes": lambda value: value > 0,
    "last_fetch_timestamp": lambda value: value > 0,
    "last_timestamp": lambda value: value > 0,
    "last_caught_up_timestamp": lambda value: value > 0,
    "client_instance_id": any,
    "subscription_id": bool,
    "cluster_id": bool,
    "error_message": lambda value: value is None,
    "batch_index_error_message": lambda value: value is None,
    "transaction_start_time_ms": lambda value: value > 0,
}
# Lists whose elements are found by a name, and need not all be there.
KEYED: Final = {
    "api_keys": "api_key",
    "configs": "name",
    "supported_features": "name",
    "finalized_features": "name",
    "active_producers": "producer_id",
    "transaction_states": "transactional_id",
}
# Of those, the ones that Apache Kafka holds in no order: it goes through a hash map.
UNORDERED: Final = {"active_producers", "transaction_states"}
# The same, where the elements are of this kind.
KEYED_STRUCTS: Final[Mapping[type[Struct], str]] = {
    AlterShareGroupOffsetsResponseTopic: "topic_name",
    ConsumerGroupMember: "member_id",
    DeleteShareGroupOffsetsResponseTopic: "topic_name",
    DescribeShareGroupOffsetsResponseTopic: "topic_name",
    ListedGroup: "group_id",
    ShareAcknowledgePartitionData: "partition_index",
}
# Ids to be learned, and the one that means none.
LEARNED: Final = {"topic_id": ZERO_UUID, "producer_id": -1, "member_id": ""}
# Fields that hold such an id under another name.
CALLED: Final = {"leader": "member_id"}


class Comparison:
    """The differences between answers, and the ids learned so far."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, Any], Any] = {}  # (field, theirs) -> ours

    def differences(self, theirs: Struct, ours: Struct) -> Iterator[Difference]:
        """Every field of ``ours`` that is not as in ``theirs``."""
        code = getattr(ours, "error_code", 0)
        for field in fields_of(theirs):
            pair = getattr(theirs, field), getattr(ours, field)
            for found in self._walk("." + field, *pair):
                # What stands deeper may have brought a code of its own.
                yield found if found.error_code else found._replace(error_code=code)

    def _walk(self, path: str, theirs: Any, ours: Any) -> Iterator[Difference]:
        name = path.rpartition(".")[2]
        name = CALLED.get(name, name)
        if isinstance(theirs, Struct) and isinstance(ours, Struct):
            for found in self.differences(theirs, ours):
                yield found._replace(path=path + found.path)
        elif isinstance(theirs, list) and isinstance(ours, list):
            kind = type(theirs[0]) if theirs else None
            key = KEYED_STRUCTS.get(kind) if kind else None
            if key or name in KEYED:
                is_in_order = not key and name not in UNORDERED
                key = key or KEYED[name]
                yield from self._walk_keyed(path, key, theirs, ours, is_in_order)
            else:
                yield from self._walk_list(path, theirs, ours)
        elif name in SEEN_AS:
            if SEEN_AS[name](theirs) != SEEN_AS[name](ours):
                yield Difference(path, theirs, ours)
        elif not self._is_same(name, plain(theirs), plain(ours)):
            yield Difference(path, plain(theirs), plain(ours))

    def _walk_list(
        self, path: str, theirs: list[Any], ours: list[Any]
    ) -> Iterator[Difference]:
        if len(theirs) != len(ours):
            yield Difference(f"{path}.length", len(theirs), len(ours))
        for number, pair in enumerate(zip(theirs, ours, strict=False)):
            yield from self._walk(f"{path}.{number}", *pair)

    def _walk_keyed(
        self,
        path: str,
        key: str,
        theirs: list[Any],
        ours: list[Any],
        is_in_order: bool,
    ) -> Iterator[Difference]:
        their_keys = [self._our(key, getattr(element, key)) for element in theirs]
        our_keys = [getattr(element, key) for element in ours]
        missing = [found for found in their_keys if found not in our_keys]
        more = [found for found in our_keys if found not in their_keys]
        yield from (Difference(f"{path}.{one}", "listed", None) for one in missing)
        yield from (Difference(f"{path}.{one}", None, "listed") for one in more)
        in_their_order = [found for found in their_keys if found in our_keys]
        in_our_order = [found for found in our_keys if found in their_keys]
        if is_in_order and in_their_order != in_our_order:
            yield Difference(f"{path}.order", their_keys, our_keys)
        by_key = dict(zip(our_keys, ours, strict=True))
        for found, element in zip(their_keys, theirs, strict=True):
            if found in by_key:
                yield from self._walk(f"{path}.{found}", element, by_key[found])

    def _is_same(self, name: str, theirs: Any, ours: Any) -> bool:
        if name in LEARNED:
            return self._is_pair(name, theirs, ours)
        if name == "records" and theirs and ours:
            return self._without_clock(theirs) == self._without_clock(ours)
        return bool(theirs == ours)

    def _our(self, name: str, theirs: Any) -> Any:
        """The id that we have for one of theirs; anything else as it is."""
        return self.ids.get((name, theirs), theirs)

    def _without_clock(self, records: bytes) -> bytes:
        """Records of producers with our ids; beside transactions all without a time."""
        batches = bytearray(records)
        found = list(scan(records))
        if not any(header.is_transactional for _, header in found):
            return records
        for position, header in found:
            batch = memoryview(batches)[position : position + header.size]
            if header.is_transactional:
                set_producer_id(batch, self._our("producer_id", header.producer_id))
            struct.pack_into(">q", batch, BASE_TIMESTAMP_POSITION, 0)
            restamp_time(batch, header.attributes, 0)
        return bytes(batches)

    def _is_pair(self, name: str, theirs: Any, ours: Any) -> bool:
        if {LEARNED[name], None} & {theirs, ours}:
            return bool(theirs == ours)
        if (name, theirs) not in self.ids:
            taken = {mine for (kind, _), mine in self.ids.items() if kind == name}
            if ours in taken:
                return False
            self.ids[name, theirs] = ours
        return bool(self.ids[name, theirs] == ours)


def set_producer_id(batch: memoryview, producer_id: int) -> None:
    """Say that somebody else has sent a batch, with the checksum for it."""
    header = read_header(batch)
    struct.pack_into(">q", batch, PRODUCER_ID_POSITION, producer_id)
    restamp_time(batch, header.attributes, header.max_timestamp)


def error_codes(value: Any) -> list[int]:
    """The error codes in an answer, but for those that say that all is well."""
    if isinstance(value, list):
        return [code for element in value for code in error_codes(element)]
    if not isinstance(value, Struct):
        return []
    codes = [getattr(value, "error_code", 0)]
    codes += [
        code
        for field in fields_of(value)
        for code in error_codes(getattr(value, field))
    ]
    return [code for code in codes if code]


def fields_of(value: Struct) -> list[str]:
    """The fields of a message or of a part of one."""
    slots: list[str] = []
    for kind in type(value).__mro__:
        slots += getattr(kind, "__slots__", ())
    return [slot for slot in slots if not slot.startswith("_") and "tags" not in slot]


def plain(value: Any) -> Any:
    """Bytes of any kind as bytes, everything else as it is."""
    return bytes(value) if isinstance(value, bytearray | memoryview) else value
