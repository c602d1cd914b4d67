"""What the share coordinator writes into ``__share_group_state``, in Kafka's format.

A share partition is written whole as a snapshot, and then by updates that say what has
changed; after some of them comes the next snapshot. The layouts are those of
`protocol.share_records`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from odradek.protocol.errors import InvalidRecord, MalformedRequest
from odradek.protocol.messages.share_state import ShareStateBatch
from odradek.protocol.share_records import (
    SNAPSHOT_TYPE,
    UPDATE_TYPE,
    ShareSnapshotValue,
    ShareStateKey,
    ShareUpdateValue,
)

from .state import ShareKey, StateBatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.storage.files.files import Buffer

# In one record, which with so many takes less than half of what a batch may.
BATCHES_MAX = 20_000

_INT16 = Struct(">h")
_VERSION = _INT16.pack(0)
_Value = TypeVar("_Value", ShareSnapshotValue, ShareUpdateValue)


class Snapshot(NamedTuple):
    """A share partition, all of it."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start: int
    complete_count: int
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...] = ()


class SnapshotRecord(NamedTuple):
    """A share partition as it is now; ``snapshot`` None: it is forgotten.

    ``begins_anew`` is not written: what was known of it counts no more.
    """

    key: ShareKey
    snapshot: Snapshot | None
    begins_anew: bool = False

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        key = _key(SNAPSHOT_TYPE, self.key)
        if self.snapshot is None:
            return key, None
        value = ShareSnapshotValue(
            snapshot_epoch=self.snapshot.snapshot_epoch,
            state_epoch=self.snapshot.state_epoch,
            leader_epoch=self.snapshot.leader_epoch,
            start_offset=self.snapshot.start,
            delivery_complete_count=self.snapshot.complete_count,
            create_timestamp=self.snapshot.created_ms,
            write_timestamp=self.snapshot.written_ms,
            state_batches=_structs(self.snapshot.batches),
        )
        return key, _VERSION + value.encode(0)


class UpdateRecord(NamedTuple):
    """What has changed in a share partition since its snapshot of that epoch."""

    key: ShareKey
    snapshot_epoch: int
    leader_epoch: int
    start: int
    complete_count: int
    batches: tuple[StateBatch, ...]

    def encode(self) -> tuple[bytes, bytes | None]:
        """Key and value as they lie in the log."""
        value = ShareUpdateValue(
            snapshot_epoch=self.snapshot_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start,
            delivery_complete_count=self.complete_count,
            state_batches=_structs(self.batches),
        )
        return _key(UPDATE_TYPE, self.key), _VERSION + value.encode(0)


def decode(key: Buffer, value: Buffer | None) -> SnapshotRecord | UpdateRecord | None:
    """The record; None for one of another kind.

    Raises:
        InvalidRecord: it is cut short, or of a version that is not known.
    """
    try:
        kind, rest = _version(key)
        if kind not in (SNAPSHOT_TYPE, UPDATE_TYPE):
            return None
        of = ShareStateKey.decode(rest, 0)
        share_key = ShareKey(of.group_id, of.topic_id, of.partition)
        if kind == SNAPSHOT_TYPE:
            return SnapshotRecord(share_key, _snapshot(value))
        return None if value is None else _update(share_key, value)
    except (MalformedRequest, error) as cause:
        raise InvalidRecord(f"a record of a coordinator: {cause}") from cause


@lru_cache(maxsize=10_000)  # every acknowledgement writes one
def _key(kind: int, key: ShareKey) -> bytes:
    of = ShareStateKey(
        group_id=key.group_id, topic_id=key.topic_id, partition=key.partition
    )
    return _INT16.pack(kind) + of.encode(0)


def _structs(batches: Iterable[StateBatch]) -> list[ShareStateBatch]:
    return [
        ShareStateBatch(
            first_offset=first,
            last_offset=last,
            delivery_state=state,
            delivery_count=count,
        )
        for first, last, state, count in batches
    ]


def _batches(found: Iterable[ShareStateBatch]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(
            each.first_offset,
            each.last_offset,
            each.delivery_state,
            each.delivery_count,
        )
        for each in found
    )


def _snapshot(value: Buffer | None) -> Snapshot | None:
    if value is None:
        return None
    found = _decoded(ShareSnapshotValue, value)
    return Snapshot(
        found.snapshot_epoch,
        found.state_epoch,
        found.leader_epoch,
        found.start_offset,
        found.delivery_complete_count,
        found.create_timestamp,
        found.write_timestamp,
        _batches(found.state_batches),
    )


def _update(key: ShareKey, value: Buffer) -> UpdateRecord:
    found = _decoded(ShareUpdateValue, value)
    return UpdateRecord(
        key,
        found.snapshot_epoch,
        found.leader_epoch,
        found.start_offset,
        found.delivery_complete_count,
        _batches(found.state_batches),
    )


def _decoded(cls: type[_Value], value: Buffer) -> _Value:
    version, rest = _version(value)
    if not cls.min_version <= version <= cls.max_version:
        raise InvalidRecord(f"version {version} of {cls.__name__} is not known")
    return cls.decode(rest, version)


def _version(data: Buffer) -> tuple[int, memoryview]:
    view = memoryview(data)
    return _INT16.unpack_from(view)[0], view[2:]
