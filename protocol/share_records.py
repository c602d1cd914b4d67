"""The records of ``__share_group_state``: what a share coordinator remembers.

A key begins with an int16 that says of what kind the record is; a value with the
int16 of its version. Both kinds have the same key.

==== ==================== =========================================================
type value                of
==== ==================== =========================================================
0    `ShareSnapshotValue` a share partition, all of it; null: it is forgotten
1    `ShareUpdateValue`   what has changed in it since
==== ==================== =========================================================
"""

from .messages.share_state import ShareStateBatch
from .schema import Message, array, int32, int64, string, uuid

SNAPSHOT_TYPE = 0
UPDATE_TYPE = 1


class ShareStateKey(Message, versions=(0, 0)):
    """A partition of a topic, for a share group."""

    group_id: str = string()
    topic_id: bytes = uuid()
    partition: int = int32()


class ShareSnapshotValue(Message, versions=(0, 0), flexible=0):
    """A share partition as it is."""

    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: list[ShareStateBatch] = array()


class ShareUpdateValue(Message, versions=(0, 0), flexible=0):
    """What has changed in a share partition; a start of -1 has not."""

    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    state_batches: list[ShareStateBatch] = array()


# Key and value of each type of record; they carry no other version than these say.
SHARE_RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    SNAPSHOT_TYPE: (ShareStateKey, ShareSnapshotValue),
    UPDATE_TYPE: (ShareStateKey, ShareUpdateValue),
}
