"""The stations of a Produce, of a Fetch and of an OffsetCommit, roughly in their order.

The functions are named, not copied: one that is renamed or goes is missed by the type
checker and by the tests of every walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.offsets.commit import decide_commit
from odradek.broker.coordinator.group.offsets.usual_commit import commit
from odradek.broker.coordinator.group.state.shard import GroupShard
from odradek.broker.coordinator.shard import Shard
from odradek.broker.durability.committer import DirectoryCommitter
from odradek.broker.durability.plain_sync import PlainSync
from odradek.broker.handlers.groups.offset_commit import handle_offset_commit
from odradek.broker.handlers.groups.usual_commit import UsualCommit
from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.produce import handle_produce
from odradek.broker.handlers.records.transaction_verification import ask_coordinator
from odradek.broker.handlers.records.usual_fetch import UsualFetch
from odradek.broker.handlers.records.usual_produce import UsualProduce
from odradek.broker.replica.appends import Appends
from odradek.broker.replica.fetch_executor import FetchExecutor
from odradek.broker.replica.partition.fetch_reader import FetchReader, read_partition
from odradek.broker.replica.partition.partition import ACKS_ALL, Partition
from odradek.broker.replica.replica_manager import ReplicaManager
from odradek.broker.replica.waiting.awaited_appends import AwaitingAppends
from odradek.broker.replica.waiting.awaited_sync import AwaitedSync
from odradek.broker.replica.waiting.delayed_fetch import DelayedFetch, WaitingFetches
from odradek.broker.replica.waiting.delayed_produce import DelayedProduce
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.quotas.metered import Measuring, MeteredDispatcher
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.api_keys import ApiKey
from odradek.storage.files.files import OsFile
from odradek.storage.log.appender import Appender
from odradek.storage.log.joint_appender import JointAppender
from odradek.storage.log.state import LogState
from odradek.storage.segment.indexes import SegmentIndexes
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.segment.reader import SegmentReader
from odradek.storage.segment.tail import LogTail

from .stations import Moment, Station, woken_by

if TYPE_CHECKING:
    from collections.abc import Iterable


def _self(at: Moment) -> Iterable[object]:
    return (at["self"],)


def _partition(at: Moment) -> Iterable[object]:
    return (at["partition"],)


def _begun(at: Moment) -> Iterable[object]:
    return (at["begun"],)


def _acks(acks: int) -> str:
    return "acks=all" if acks == ACKS_ALL else f"acks={acks}"


def _plural(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def _bytes(data: Any) -> int:
    return sum(map(len, data)) if isinstance(data, tuple) else len(data)


# How every request arrives.


def _long_way(at: Moment) -> str:
    return "the long way: header and request are decoded"


ARRIVAL = (
    Station(MeteredDispatcher.dispatch, lambda _: "quotas: its client is looked up"),
    Station(Measuring.take, lambda _: "its client has a quota: it is measured"),
    Station(Dispatcher.dispatch_whole, _long_way, is_long_way=True),
)


# How batches get into a log.


def _into_partition(at: Moment) -> str:
    partition = at["self"]
    epoch = partition.leadership.epoch
    return f"{partition.topic_partition}: led here, in epoch {epoch}?"


def _into_segment(at: Moment) -> str:
    offsets = f"{at['base_offset']} to {at['last_offset']}"
    return f"checked in C: header, checksum, records, sequence; gets offsets {offsets}"


def _valid(at: Moment) -> str:
    header, local = at["valid"].header, at["self"]._local
    first = local.end.offset
    kind = "valid and new" if header.producer_id >= 0 else "valid"
    return f"{kind}: gets offsets {first} to {first + header.last_offset_delta}"


def _written(at: Moment) -> str:
    size, position, caller = at["size"], at["position"], at.frame.f_back
    assert caller is not None
    path = caller.f_locals["self"].log.path  # the segment's
    return f"{size} bytes written at position {position} of {path.name}"


def _waits_for_sync(at: Moment) -> str:
    partition, append = at["partition"], at["append"]
    others = partition.awaited.appends if partition.awaited is not None else ()
    what = at["until"].value
    with_whom = f", with {_plural(len(others), 'other')}" if others else ""
    return f"its answer waits for {what} to pass {append.next_offset}{with_whom}"


_OF_A_SYNC = (
    DirectoryCommitter._draw_tickets,
    PlainSync.begin,
    DiskThreads.submit,
    DirectoryCommitter._on_synced,
    ReplicaManager.check_all_waiting,
)

APPEND = (
    Station(Partition.append_usual, _into_partition, own=_self),
    Station(Partition.append, _into_partition, own=_self, renews=_OF_A_SYNC),
    Station(LogSegment.append_usual, _into_segment),
    Station(
        JointAppender.append,
        lambda at: f"{_plural(len(at['batches']), 'batch', 'batches')} at once",
    ),
    Station(Appender._write, _valid),
    Station(LogState.roll, lambda _: "the segment is full: a new one begins"),
    Station(SegmentIndexes.note, _written, place=OsFile.append),
    Station(
        DirectoryCommitter.mark_dirty,
        lambda at: f"{at['self'].directory.name} has unsynced records",
    ),
    Station(AwaitingAppends.add, _waits_for_sync),
    Station(AwaitedSync.add, lambda _: "its answer waits for the next sync"),
    Station(
        DelayedProduce.__init__,
        lambda at: f"its answer waits for {_plural(len(at['pending']), 'partition')}",
        place=DelayedProduce,
    ),
)


# One sync for many, and who waits for it.


def _drawn(at: Moment) -> Iterable[object]:
    return [partition for partition, _ in at.value or ()]


def _handed_over_by(at: Moment) -> Iterable[object]:
    caller = at.frame.f_back
    return () if caller is None else (caller.f_locals.get("begun"),)


def _synced(at: Moment) -> str:
    if at["error"] is not None:
        return f"the sync has failed: {at['error']}"
    return f"the disk has it: the sync took {at['seconds'] * 1000:.3f} ms"


def _raised(at: Moment) -> str:
    high_watermark = at["partition"].view.high_watermark
    return f"high watermark {high_watermark}: those who wait are looked at"


SYNC = (
    Station(
        DirectoryCommitter._draw_tickets,
        lambda at: f"one sync begins, for {_plural(len(at.value), 'log')}",
        at_return=True,
        of=_drawn,
        own=lambda at: (at.value,),
    ),
    Station(
        PlainSync.begin,
        lambda at: "a thread that runs no Python is told" if at.value else None,
        at_return=True,
        of=_handed_over_by,
    ),
    Station(
        DiskThreads.submit,
        lambda _: "a thread is told: there is more to it than bytes of one file",
        of=_handed_over_by,
    ),
    Station(DirectoryCommitter._on_synced, _synced, of=_begun),
    Station(
        ReplicaManager.check_all_waiting,
        _raised,
        of=_partition,
        behind=DirectoryCommitter._on_synced,
    ),
)


# Produce


def _known_head(at: Moment) -> str:
    ask, size = at["ask"], len(at["batch"])
    return f"known by its bytes: {ask.key}, {_acks(ask.acks)}, a batch of {size} bytes"


def _decoded_produce(at: Moment) -> str:
    request = at["request"]
    topics = [
        f"{topic.name or topic.topic_id.hex()}-{data.index}"
        for topic in request.topic_data
        for data in topic.partition_data
    ]
    return f"decoded: {_acks(request.acks)}, batches for {', '.join(topics)}"


PRODUCE = (
    *ARRIVAL,
    Station(
        UsualProduce._learn,
        lambda _: "what stands before the batch is new: decoded, known from now on",
    ),
    Station(Appends.append_one, _known_head),
    Station(handle_produce, _decoded_produce),
    Station(ask_coordinator, lambda _: "its transaction's coordinator is asked"),
    Station(
        Appends.append,
        lambda at: f"{_plural(len(at['entries']), 'batch', 'batches')} to append",
    ),
    Station(
        Appends._append_one_unusual,
        lambda _: "something is special about it: checked by the general way",
    ),
    *APPEND,
    *SYNC,
)


# Fetch


def _asked(at: Moment) -> str:
    wanted, params = at["wanted"], at["params"]
    return (
        f"known by its bytes: {wanted.topic_partition} from offset "
        f"{wanted.fetch_offset}, min.bytes {params.min_bytes}, "
        f"max.wait {params.max_wait_ms} ms"
    )


def _asked_at_length(at: Moment) -> str:
    count = _plural(len(at["wanted"]), "partition")
    params = at["params"]
    return f"{count}, min.bytes {params.min_bytes}, max.wait {params.max_wait_ms} ms"


def _from_tail(at: Moment) -> str | None:
    if at.value is None:
        return None
    return f"{len(at.value.records)} bytes from the tail in memory"


def _from_file(at: Moment) -> str | None:
    if at.value is None:
        return None
    position, records, _ = at.value
    name, warm = at["self"].log.path.name, "the page cache"
    if at["may_block"]:
        warm = "the disk, read in before"
    return f"{len(records)} bytes at position {position} of {name}, from {warm}"


def _read(at: Moment) -> str | None:
    result = at.value
    if result is None:
        return None
    if result.error_code:
        return f"error {result.error_code}"
    high, start = result.high_watermark, at["wanted"].topic_partition
    return f"{start} gives {len(result.records)} bytes; high watermark {high}"


def _begins_to_wait(at: Moment) -> str:
    reader = at["first_read"]
    params = reader.params
    return (
        f"waits: it has {reader.size} of {params.min_bytes} bytes, "
        f"and {params.max_wait_ms} ms at most"
    )


def _joins(at: Moment) -> str | None:
    if not at.value:
        return None
    return f"waits with {len(at['fetch'].waiters) - 1} who want the same"


FETCH = (
    *ARRIVAL,
    Station(
        UsualFetch._learn,
        lambda _: "these bytes are new: decoded, known from now on",
    ),
    Station(FetchExecutor.fetch_one, _asked),
    Station(
        handle_fetch,
        lambda at: (
            f"decoded: session {at['request'].session_id}, "
            f"{_plural(len(at['request'].topics), 'topic')} named"
        ),
    ),
    Station(FetchExecutor.fetch, _asked_at_length),
    Station(LogTail.read, _from_tail, at_return=True),
    Station(SegmentReader.read, _from_file, at_return=True),
    Station(read_partition, _read, at_return=True),
    Station(
        FetchExecutor._read_to_the_end,
        lambda _: "not in the page cache: a disk thread reads it in",
    ),
    Station(FetchReader.read_warmed, lambda _: "it is read in: once more"),
    Station(DelayedFetch.__init__, _begins_to_wait, own=_self, place=DelayedFetch),
    Station(
        WaitingFetches.join,
        _joins,
        at_return=True,
        own=lambda at: (at["fetch"],) if at.value else (),
    ),
    Station(
        FetchExecutor._again,
        lambda at: f"woken by {woken_by(at.frame)}: reads again",
        of=lambda at: (at["fetch"],),
        opens=True,
    ),
    Station(
        FetchExecutor._answer_all,
        lambda at: (
            f"{at['reader'].size} bytes, for "
            f"{_plural(len(at['waiters']), 'who waits', 'who wait')}"
        ),
        of=lambda at: [waiter.parked for waiter in at["waiters"]],
    ),
)


# OffsetCommit


def _decided(at: Moment) -> str | None:
    if at.value is None:
        return None
    return f"decided: {_plural(len(at.value.records), 'record')} to write"


COMMIT = (
    *ARRIVAL,
    Station(UsualCommit._keep, lambda _: "what is around its offsets is new: decoded"),
    Station(
        commit, lambda at: f"known by its bytes: group {at['usual'].committer.group_id}"
    ),
    Station(
        handle_offset_commit,
        lambda at: (
            f"decoded: group {at['request'].group_id}, "
            f"{_plural(len(at['request'].topics), 'topic')}"
        ),
    ),
    Station(Shard.act, lambda at: f"its group belongs to {at['self'].topic_partition}"),
    Station(decide_commit, _decided, at_return=True),
    Station(
        Shard._append_together,
        lambda at: f"a batch of {len(at['together'][0][1])} bytes",
    ),
    Station(
        Shard.write_usual, lambda at: f"allowed: a batch of {len(at['batch'])} bytes"
    ),
    *APPEND,
    Station(Shard._replay, lambda _: "replayed into the state of the group"),
    Station(
        GroupShard.replay_usual, lambda _: "replayed into the offsets of the group"
    ),
    *SYNC,
)

WALKS = {
    ApiKey.PRODUCE: PRODUCE,
    ApiKey.FETCH: FETCH,
    ApiKey.OFFSET_COMMIT: COMMIT,
}
