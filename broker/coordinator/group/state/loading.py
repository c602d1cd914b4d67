"""Offsets of a log that is loaded: of many batches, those that still count.

A million of them is what a busy broker starts with, most of them commits that others
have followed. C finds the last of each key in a stretch of the log, and objects are
made of these alone. A batch that holds anything but offsets as most are (no note, no
expiry, no transaction) is left to be replayed record by record.
"""

from __future__ import annotations

import logging
import os
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.latest_commits import COMMIT_COLUMNS, latest_commits

from .offsets import StoredOffset
from .records import NO_EXPIRY, ZERO_UUID, CommittedOffset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .offsets import GroupOffsets

# A stretch: C takes 0.1 µs for a record, Python 1.5 for one of a key of its own.
_RECORDS_MAX = 16_384
_KEYS_MAX = 4_096
_KEYS_AT_ONCE = 500  # before others get their turn

_ROW = Struct(f"={COMMIT_COLUMNS}q")
_SLOT_SIZE = 24
_SECRET_SIZE = 16
_UUID_SIZE = 16

_new = tuple.__new__
_logger = logging.getLogger(__name__)


class Stretch(NamedTuple):
    """Batches that hold nothing but usual offsets, up to ``position``."""

    position: int
    next_offset: int
    record_count: int
    key_count: int


class OffsetLoader:
    """Puts offsets into ``offsets``; names that come again and again are made once."""

    def __init__(self, offsets: GroupOffsets) -> None:
        self._offsets = offsets
        self._secret = os.urandom(_SECRET_SIZE)
        self._slots, self._rows = bytearray(), bytearray()
        self.forget()

    def forget(self) -> None:
        """Everything is loaded: hold no memory for it any more."""
        self._slots, self._rows = bytearray(), bytearray()
        self._names: dict[bytes, str] = {}
        self._topic_ids: dict[bytes, bytes] = {}

    def find(self, data: bytes, position: int) -> Stretch:
        """What can be taken at once from ``position`` on; perhaps nothing."""
        if not self._rows:
            self._rows = bytearray(_KEYS_MAX * _ROW.size)
            self._slots = bytearray(2 * _KEYS_MAX * _SLOT_SIZE)
        found = latest_commits(
            data, self._slots, self._secret, self._rows, position, _RECORDS_MAX
        )
        return _new(Stretch, found)

    def take(self, data: bytes, stretch: Stretch) -> Iterator[dict[str, int]]:
        """Put the offsets of a stretch where they belong, some in each step.

        A step yields the groups whose offsets it has put, and when each had committed
        first, as far as the stretch tells. Nothing else may be found meanwhile.
        """
        rows = _ROW.iter_unpack(memoryview(self._rows)[: stretch.key_count * _ROW.size])
        for _ in range(0, stretch.key_count, _KEYS_AT_ONCE):
            yield self._put(data, islice(rows, _KEYS_AT_ONCE))

    def _put(self, data: bytes, rows: Iterator[tuple[int, ...]]) -> dict[str, int]:
        groups: dict[str, int] = {}
        names, put, topic_ids = self._names, self._offsets.put, self._topic_ids
        for group_at, group_size, topic_size, partition, *value in rows:
            offset, epoch, time, topic_id_at, record_offset, begun_ms = value
            group_end = group_at + group_size
            topic_end = group_end + 2 + topic_size
            try:
                name = data[group_at:group_end]
                group = names.get(name) or self._name(name)
                name = data[group_end + 2 : topic_end]
                topic = names.get(name) or self._name(name)
            except UnicodeDecodeError as error:
                _logger.warning(
                    "the committed offset in record %d is passed over: %s",
                    record_offset,
                    error,
                )
                continue
            topic_id = ZERO_UUID
            if topic_id_at >= 0:
                topic_id = data[topic_id_at : topic_id_at + _UUID_SIZE]
                topic_id = topic_ids.setdefault(topic_id, topic_id)
            committed = _new(
                CommittedOffset, (offset, epoch, "", time, NO_EXPIRY, topic_id)
            )
            put(
                group,
                (topic, partition),
                _new(StoredOffset, (committed, record_offset)),
            )
            if group not in groups:
                groups[group] = begun_ms
        return groups

    def _name(self, name: bytes) -> str:
        found = self._names[name] = name.decode()
        return found
