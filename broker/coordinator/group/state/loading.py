"""Offsets of a log that is loaded: a batch at a time, without a `Record` for each.

A million of them is what a busy broker starts with. What is not as most offsets are
(version 4, no note, no expiry) is left to `records.decode`.
"""

from __future__ import annotations

from struct import error
from typing import TYPE_CHECKING

from .offsets import StoredOffset
from .records import (
    KEY_HEAD,
    NAME_LENGTH,
    NO_EXPIRY,
    OFFSET_KEYS,
    PARTITION,
    VALUE_4,
    VALUE_4_FIXED,
    CommittedOffset,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .offsets import GroupOffsets

_VALUE, _VALUE_SIZE = VALUE_4.unpack_from, VALUE_4.size
_KEY, _LENGTH, _PARTITION = (
    KEY_HEAD.unpack_from,
    NAME_LENGTH.unpack_from,
    PARTITION.unpack_from,
)
_new = tuple.__new__


class OffsetLoader:
    """Puts offsets into ``offsets``; names that come again and again are made once."""

    def __init__(self, offsets: GroupOffsets) -> None:
        self._offsets = offsets
        self._groups: dict[bytes, str] = {}
        self._topics: dict[bytes, str] = {}

    def take(
        self, data: bytes, rows: Iterable[tuple[int, ...]], base_offset: int
    ) -> set[str] | None:
        """Take a batch; the groups that committed. None: it holds other records too."""
        groups: set[str] = set()
        try:
            for _, delta, key_at, key_size, value_at, value_size in rows:
                if value_size != _VALUE_SIZE or key_size < 0:
                    return None
                version, offset, epoch, one, time, tags, tag, size, topic_id = _VALUE(
                    data, value_at
                )
                kind, length = _KEY(data, key_at)
                topic_at = key_at + 6 + length
                (topic_length,) = _LENGTH(data, topic_at - 2)
                end = topic_at + topic_length
                if (
                    (version, one, tags, tag, size) != VALUE_4_FIXED
                    or kind not in OFFSET_KEYS
                    or length < 0
                    or topic_length < 0
                    or end + 4 != key_at + key_size
                ):
                    return None
                group = self._name(self._groups, data[key_at + 4 : topic_at - 2])
                topic = self._name(self._topics, data[topic_at:end])
                groups.add(group)
                fields = (offset, epoch, "", time, NO_EXPIRY, topic_id)
                stored = _new(CommittedOffset, fields), base_offset + delta
                self._offsets.put(
                    group, (topic, _PARTITION(data, end)[0]), _new(StoredOffset, stored)
                )
        except (error, UnicodeDecodeError):
            return None
        return groups

    @staticmethod
    def _name(known: dict[bytes, str], name: bytes) -> str:
        found = known.get(name)
        if found is None:
            found = known[name] = name.decode()
        return found
