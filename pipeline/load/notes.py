"""What a load has written: notes in a topic of the job's own, which nothing expires.

A note is a record of the same transaction as the rows that it is about. Its topic is
compacted, has one partition, and is the job's alone: once a driver has the job's name,
no transaction is open there. The key of a note is the topic that the rows went to. What
the batches were made of stands beside it, in records with keys of their own.

A committed offset would do, but brokers let those expire when a group has no members
for a week, and a load that finds nothing writes everything again.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.client.configs import ConfigResource, ConfigResourceType, describe_configs
from odradek.client.fetcher import Fetcher, FetchLimits
from odradek.client.list_offsets import EARLIEST, LATEST, list_offsets
from odradek.client.record_reader import read_batches, read_records
from odradek.client.topics import NewTopic, create_topic, describe_topics
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.protocol.errors import (
    LeaderNotAvailable,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.metadata import Topic
    from odradek.protocol.records import Record

NOTHING_LOADED = -1
_PREFIX = "odradek-load-"
_NAME_SIZE_MAX = 249
_POLICY = "cleanup.policy"
_IN_SYNC = "min.insync.replicas"
# Small segments: what is still written to is not compacted, and read at each start.
_CONFIGS = {_POLICY: "compact", "segment.bytes": str(1 << 20)}
_PARTS_OF_RECORD = 10_000
_LIMITS = FetchLimits()


class Note(NamedTuple):
    """How far a load is; ``life`` tells its beginning from one before it.

    ``topic_id`` is that of the topic that the rows went to, in hex, zeros where the
    broker knows none.
    """

    batch: int
    note: str
    topic_id: str
    life: str


def first_note(topic_id: bytes) -> Note:
    """Nothing is loaded yet, and it has begun."""
    return Note(NOTHING_LOADED, "", topic_id.hex(), secrets.token_hex(8))


def notes_topic(job: str) -> str:
    """The topic for the notes of a job; no two jobs have the same.

    It has no dot: to Kafka, names that differ in dots and underscores collide.
    """
    escaped = re.sub(
        rb"[^A-Za-z0-9-]", lambda found: b"_%02x" % found[0][0], job.encode()
    )
    name = _PREFIX + escaped.decode()
    if len(name) > _NAME_SIZE_MAX:
        return f"{_PREFIX}_{hashlib.sha256(job.encode()).hexdigest()}"
    return name


class LoadNotes:
    """The notes of one job about one topic."""

    def __init__(self, cluster: Cluster, job: str, topic: str) -> None:
        """Makes the topic of the notes if there is none.

        Raises:
            JobError: there is one from which notes could vanish.
        """
        self._cluster = cluster
        self._topic = topic
        self.place = TopicPartition(notes_topic(job), 0)
        self._make()
        self._fetcher = Fetcher(cluster, committed=True)
        self._next_offset: int | None = None
        self._last: Note | None = None
        self._parts: dict[str, tuple[str, list[str]]] = {}

    def _make(self) -> None:
        name = self.place.topic
        metadata = self._cluster.metadata([name])
        if name not in metadata.topics:
            error = metadata.failed.get(name)
            if error is not None and not isinstance(error, UnknownTopicOrPartition):
                raise error
            try:
                create_topic(self._cluster, self._as_safe_as_rows())
                self._await_leader()
                return
            except TopicAlreadyExists:
                pass  # made by somebody a moment ago
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        for option in describe_configs(self._cluster, resource, [_POLICY]):
            if option.value != "compact":
                raise JobError(
                    f"topic {name} says what has been loaded, but its {_POLICY} is"
                    f" {option.value}: that would be forgotten. odradek config alter"
                    f" topic {name} --set {_POLICY}=compact mends it"
                )

    def _as_safe_as_rows(self) -> NewTopic:
        """The topic to make: with as many copies as that of the rows."""
        found = describe_topics(self._cluster, [self._topic]).found[self._topic]
        copies = max(len(each.replicas) for each in found.partitions)
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topic)
        (in_sync,) = describe_configs(self._cluster, resource, [_IN_SYNC])
        configs = {**_CONFIGS, _IN_SYNC: in_sync.value}
        return NewTopic(self.place.topic, 1, copies, configs)

    def _await_leader(self) -> None:
        """Apache Kafka answers before every broker knows of a new topic."""
        name = self.place.topic
        self._cluster.retry.run(
            lambda: self._cluster.metadata([name]).leader_of(self.place),
            lambda error: isinstance(
                error, (UnknownTopicOrPartition, LeaderNotAvailable)
            ),
        )

    def last(self) -> Note | None:
        """The last note that was committed; None when there is none.

        Only for who has the job's name: else transactions may be open.

        Raises:
            JobStopped: it is no note.
            KafkaError, OSError: the topic cannot be read.
        """
        if self._next_offset is None:
            self._next_offset = _offset(self._cluster, self.place, EARLIEST)
        end = _offset(self._cluster, self.place, LATEST)
        start = self._next_offset
        for fetched in self._fetcher.read(self.place, start, end, _LIMITS):
            for record in read_records(fetched, self._next_offset, committed=True):
                self._take(record)
            self._next_offset = fetched.next_offset(self._next_offset)
        return self._last

    def _take(self, record: Record) -> None:
        key, _, part = (record.key or b"").decode(errors="replace").partition("\n")
        if key != self._topic or record.value is None:
            return
        try:
            said: dict[str, Any] = json.loads(record.value)
            if part:
                self._parts[part] = (said["life"], said["parts"])
            else:
                self._last = Note(
                    said["batch"], said["note"], said["topicId"], said["life"]
                )
        except (ValueError, KeyError, TypeError):
            raise JobStopped(
                f"{self.place} has at offset {record.offset} something that is not a"
                " note of a load; see who writes to it"
            ) from None

    def parts(self, life: str) -> set[str]:
        """What the batches of a life were made of, up to the last one."""
        return {
            name for of, names in self._parts.values() if of == life for name in names
        }

    def records(self, note: Note, parts: Sequence[str]) -> Iterator[NewRecord]:
        """What says that a batch was written, and what it was made of."""
        for start in range(0, len(parts), _PARTS_OF_RECORD):
            some = list(parts[start : start + _PARTS_OF_RECORD])
            key = f"{self._topic}\n{note.batch} {start}"
            yield _record(key, {"life": note.life, "parts": some})
        said = {
            "batch": note.batch,
            "note": note.note,
            "topicId": note.topic_id,
            "life": note.life,
        }
        yield _record(self._topic, said)


def was_written(cluster: Cluster, topic: Topic) -> bool:
    """Whether the topic has committed records, or had some that are gone by now."""
    fetcher = Fetcher(cluster, committed=True)
    for place in (TopicPartition(topic.name, each) for each in topic.leaders):
        if _offset(cluster, place, EARLIEST):
            return True
        end = _offset(cluster, place, LATEST)
        for fetched in fetcher.read(place, 0, end, _LIMITS):
            if any(read_batches(fetched, committed=True)):
                return True
    return False


def _offset(cluster: Cluster, place: TopicPartition, moment: int) -> int:
    listed = list_offsets(cluster, {place: moment}, committed=True)
    for error in listed.failed.values():
        raise error
    return listed.found[place].offset


def _record(key: str, said: dict[str, Any]) -> NewRecord:
    return NewRecord(key.encode(), json.dumps(said).encode(), int(time.time() * 1000))
