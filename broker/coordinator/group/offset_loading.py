"""Offsets of a log that is loaded: a batch at a time, without a `Record` for each.

A million of them is what a busy broker starts with. What is not as most offsets are
(version 4, no note, no expiry) is left to `records.decode`.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING

from .offsets import StoredOffset
from .records import NO_EXPIRY, OFFSET_KEYS, CommittedOffset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .offsets import GroupOffsets

# Version, offset, leader epoch, length of the note and one, commit timestamp, one tag
# of 16 bytes, which is the topic id.
_VALUE_SIZE = 42
_VALUE = Struct(">hqiBqBBB16s").unpack_from
_VALUE_FIXED = (4, 1, 1, 0, 16)
_KEY = Struct(">hh").unpack_from  # kind, length of the group id
_INT16 = Struct(">h").unpack_from
_INT32 = Struct(">i").unpack_from
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
                (topic_length,) = _INT16(data, topic_at - 2)
                end = topic_at + topic_length
                if (
                    (version, one, tags, tag, size) != _VALUE_FIXED
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
                    group, (topic, _INT32(data, end)[0]), _new(StoredOffset, stored)
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
