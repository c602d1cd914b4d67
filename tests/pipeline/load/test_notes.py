"""Notes of a load: where they are, what they say, and what they outlive."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.cluster import Cluster
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
    describe_configs,
)
from odradek.client.producer import Producer
from odradek.client.records_deletion import HIGH_WATERMARK, delete_records
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transactional_producer import TransactionalProducer
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.load.notes import (
    LoadNotes,
    Note,
    first_note,
    notes_topic,
    was_written,
)
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import settle

LEGAL = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@given(st.lists(st.text(min_size=1, max_size=300), min_size=2, max_size=4, unique=True))
def test_jobs_have_topics_of_their_own(jobs: list[str]) -> None:
    names = [notes_topic(job) for job in jobs]
    assert len(set(names)) == len(jobs)
    for name in names:
        assert set(name) <= LEGAL
        assert len(name) <= 249


def test_names_that_look_alike() -> None:
    assert notes_topic("orders-1") == "odradek-load-orders-1"
    alike = ["orders-eu", "orders.eu", "orders_eu", "orders_2eeu"]
    assert len({notes_topic(job) for job in alike}) == 4


@pytest.fixture
def producer(cluster: Cluster, topic: str) -> Iterator[TransactionalProducer]:
    """The owner of the job's name."""
    with TransactionalProducer(cluster, topic) as producer:
        yield producer


def write(
    producer: TransactionalProducer,
    notes: LoadNotes,
    note: Note,
    *parts: str,
    commits: bool = True,
) -> None:
    producer.begin()
    for record in notes.records(note, parts):
        producer.send(notes.place.topic, record, 0)
    if commits:
        producer.commit()
    else:
        producer.abort()


def reread(cluster: Cluster, topic: str) -> tuple[Note | None, LoadNotes]:
    """As the next driver does it."""
    settle(cluster, notes_topic(topic))
    notes = LoadNotes(cluster, topic, topic)
    return notes.last(), notes


def test_the_last_note_and_all_parts_of_its_life(
    cluster: Cluster, topic: str, producer: TransactionalProducer
) -> None:
    create_topic(cluster, NewTopic(topic))
    notes = LoadNotes(cluster, topic, topic)
    assert notes.last() is None
    begun = first_note(bytes(15) + b"\1")
    assert begun[:3] == (-1, "", "00" * 15 + "01")
    write(producer, notes, begun)
    write(producer, notes, begun._replace(batch=0, note="x"), "a", "b")
    write(producer, notes, begun._replace(batch=1), "lost", commits=False)
    write(producer, notes, begun._replace(batch=1, note="y"), "c")
    settle(cluster, notes.place.topic)
    assert notes.last() == begun._replace(batch=1, note="y")
    write(producer, notes, begun._replace(batch=2, note="z"))
    for last, each in reread(cluster, topic), (notes.last(), notes):
        assert last == begun._replace(batch=2, note="z")
        assert each.parts(begun.life) == {"a", "b", "c"}
    other = LoadNotes(cluster, topic, "another-topic")
    assert other.last() is None
    again = first_note(bytes(16))
    write(producer, notes, again)
    write(producer, notes, again._replace(batch=0), "d")
    last, notes = reread(cluster, topic)
    assert last == again._replace(batch=0)
    assert notes.parts(again.life) == {"d"}


def test_many_parts_of_one_batch(
    cluster: Cluster, topic: str, producer: TransactionalProducer
) -> None:
    create_topic(cluster, NewTopic(topic))
    notes = LoadNotes(cluster, topic, topic)
    parts = [f"{number:016d}" for number in range(25_000)]
    records = list(notes.records(first_note(bytes(16))._replace(batch=0), parts))
    assert len(records) == 4
    # The broker takes batches of a million bytes.
    assert max(len(record.value or b"") for record in records) < 300_000
    write(producer, notes, first_note(bytes(16)))
    note = first_note(bytes(16))._replace(batch=0)
    write(producer, notes, note, *parts)
    last, notes = reread(cluster, topic)
    assert last == note
    assert notes.parts(note.life) == set(parts)


def test_nothing_expires_a_note(cluster: Cluster, topic: str) -> None:
    create_topic(cluster, NewTopic(topic, configs={"min.insync.replicas": "2"}))
    notes = LoadNotes(cluster, topic, topic)
    resource = ConfigResource(ConfigResourceType.TOPIC, notes.place.topic)
    wanted = ["cleanup.policy", "min.insync.replicas"]
    policy, in_sync = describe_configs(cluster, resource, wanted)
    assert (policy.value, in_sync.value) == ("compact", "2")
    for value in "delete", "compact,delete":
        change = ConfigChange(Operation.SET, "cleanup.policy", value)
        alter_configs(cluster, resource, [change])
        with pytest.raises(JobError, match=f"cleanup.policy is {value}: that would"):
            LoadNotes(cluster, topic, topic)


@pytest.mark.parametrize(
    "value", [b"no JSON", b"[]", b'{"batch": 1}', json.dumps({"life": "x"}).encode()]
)
def test_what_is_no_note(cluster: Cluster, topic: str, value: bytes) -> None:
    create_topic(cluster, NewTopic(topic))
    notes = LoadNotes(cluster, topic, topic)
    with Producer(cluster) as producer:
        producer.send(notes.place.topic, NewRecord(b"of somebody", value, 0))
        producer.send(notes.place.topic, NewRecord(topic.encode(), None, 0))
        producer.send(notes.place.topic, NewRecord(topic.encode(), value, 0))
    with pytest.raises(JobStopped, match="offset 2 something that is not a note"):
        notes.last()


def test_whether_a_topic_was_written(
    cluster: Cluster, topic: str, producer: TransactionalProducer
) -> None:
    create_topic(cluster, NewTopic(topic, 2))

    def is_written() -> bool:
        settle(cluster, topic)
        return was_written(cluster, cluster.metadata([topic]).topics[topic])

    assert not is_written()
    producer.begin()
    producer.send(topic, NewRecord(None, b"aborted", 0), 1)
    producer.abort()
    assert not is_written()
    producer.begin()
    producer.send(topic, NewRecord(None, b"committed", 0), 1)
    producer.commit()
    assert is_written()
    # Also when retention has taken all of it.
    delete_records(cluster, {TopicPartition(topic, 1): HIGH_WATERMARK})
    assert is_written()
