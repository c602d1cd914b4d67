from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.replica.fetch_sessions import (
    EPOCH_MAX,
    EVICTION_MS,
    PARTITIONS_MAX,
    FetchSession,
    FetchSessions,
)
from odradek.broker.replica.partition.fetch_reader import FetchResult, PartitionFetch
from odradek.protocol.errors import (
    ErrorCode,
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from odradek.protocol.topic_partition import TopicPartition

ID, NAME = b"i" * 16, "t"


def wanted(*partitions: int, name: str = NAME) -> dict[TopicPartition, PartitionFetch]:
    keys = [TopicPartition(name, partition) for partition in partitions]
    return {key: PartitionFetch(key, 0, 1000) for key in keys}


def session(*partitions: int, now_ms: int = 0, **options: Any) -> FetchSession:
    return FetchSession(wanted(*partitions), {NAME: ID}, now_ms, **options)


def read(
    of: FetchSession, *results: FetchResult, topics: Any = None
) -> list[tuple[int, FetchResult]]:
    """What the client is told of these results, by partition."""
    told = of.select_changed(of.to_read(topics), results)
    return [(key.partition, result) for key, result in told]


def result(high_watermark: int = 5, records: bytes = b"", **fields: Any) -> FetchResult:
    fields.setdefault("error_code", ErrorCode.NONE)
    fields.setdefault("log_start_offset", 0)
    return FetchResult(high_watermark=high_watermark, records=records, **fields)


def partitions_of(told: list[tuple[int, FetchResult]]) -> list[int]:
    return [partition for partition, _ in told]


def test_t139_incremental_omits_unchanged() -> None:
    """A high watermark alone is included; after an error whatever comes is."""
    kept = session(0, 1, 2)
    same = result()
    assert partitions_of(read(kept, same, same, same)) == [0, 1, 2]
    assert partitions_of(read(kept, same, same, same)) == []
    assert partitions_of(read(kept, same, result(6), same)) == [1]
    moved = result(log_start_offset=3)
    assert partitions_of(read(kept, moved, result(6), same)) == [0]
    error = result(-1, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert partitions_of(read(kept, moved, error, same)) == [1]
    assert partitions_of(read(kept, moved, error, same)) == [1]
    assert partitions_of(read(kept, moved, result(6), same)) == [1]
    diverging = result(diverging_epoch=(1, 2))
    assert partitions_of(read(kept, moved, result(6), diverging)) == [2]


def test_what_had_records_is_read_last_the_next_time() -> None:
    kept = session(0, 1, 2)
    nothing = result()
    read(kept, result(records=b"r"), nothing, nothing)
    assert [key.partition for key in kept.wanted] == [1, 2, 0]
    read(kept, nothing, result(records=b"r"), nothing)
    assert [key.partition for key in kept.wanted] == [1, 0, 2]


def test_t140_epochs_ids_and_topic_ids_must_be_those_of_the_session() -> None:
    sessions = FetchSessions(10)
    kept = session(0, by_id=True)
    assert sessions.open(kept)
    known = kept.session_id
    assert known > 0
    found = sessions.find(known, 1, by_id=True, now_ms=5)
    assert (found, found.used_ms) == (kept, 5)
    with pytest.raises(FetchSessionIdNotFound):
        sessions.find(known + 1, 1, by_id=True, now_ms=0)
    for epoch in (2, 7):
        with pytest.raises(InvalidFetchSessionEpoch):
            sessions.find(known, epoch, by_id=True, now_ms=0)
    with pytest.raises(FetchSessionTopicIdError):
        sessions.find(known, 1, by_id=False, now_ms=0)
    sessions.update(kept, {}, {}, [])
    assert sessions.find(known, 2, by_id=True, now_ms=0) is kept


def test_the_epoch_after_the_last_is_the_first() -> None:
    kept = session(0)
    kept.epoch = EPOCH_MAX
    kept.update({}, {}, [])
    assert kept.epoch == 1


def test_t142_cache_full_returns_id_zero() -> None:
    sessions = FetchSessions(1)
    first, second = session(0), session(0, now_ms=EVICTION_MS)
    assert sessions.open(first)
    assert not sessions.open(second)
    assert (second.session_id, len(sessions)) == (0, 1)
    assert not FetchSessions(0).open(session(0))


def test_t142_eviction_by_age() -> None:
    sessions = FetchSessions(2)
    unused, used = session(0, 1), session(0, 1)
    assert sessions.open(unused)
    assert sessions.open(used)
    sessions.find(used.session_id, 1, by_id=False, now_ms=EVICTION_MS)
    late = session(0, now_ms=EVICTION_MS + 1)
    assert sessions.open(late)
    with pytest.raises(FetchSessionIdNotFound):
        sessions.find(unused.session_id, 1, by_id=False, now_ms=0)
    assert len(sessions) == 2


def test_t142_an_old_one_goes_only_for_one_that_is_worth_as_much() -> None:
    sessions = FetchSessions(1)
    kept = session(0, 1)
    assert sessions.open(kept)
    sessions.find(kept.session_id, 1, by_id=False, now_ms=EVICTION_MS + 1)
    assert not sessions.open(session(0, now_ms=EVICTION_MS + 1))
    assert sessions.open(session(0, 1, now_ms=EVICTION_MS + 1))


def test_t142_privileged_beats_consumer() -> None:
    sessions = FetchSessions(1)
    assert sessions.open(session(*range(9)))
    follower = session(0, is_privileged=True)
    assert sessions.open(follower)
    assert not sessions.open(session(*range(9)))
    assert sessions.find(follower.session_id, 1, by_id=False, now_ms=0) is follower


def test_t143_forget_all_partitions_closes_session() -> None:
    sessions = FetchSessions(1)
    kept = session(0, 1)
    sessions.open(kept)
    sessions.update(kept, {}, {}, [TopicPartition(NAME, 0)])
    assert len(sessions) == 1
    sessions.update(kept, {}, {}, [TopicPartition(NAME, 1), TopicPartition("x", 0)])
    assert (len(sessions), kept.session_id, kept.to_read(Any)) == (0, 0, [])
    assert sessions.open(session(0)), "its place is free"


def test_all_sessions_together_hold_so_many_partitions() -> None:
    sessions = FetchSessions(10)
    large, small = session(*range(PARTITIONS_MAX)), session(0)
    assert sessions.open(large)
    assert not sessions.open(small)
    sessions.update(large, {}, {}, [TopicPartition(NAME, 0)])
    assert sessions.open(small)
    sessions.update(small, wanted(1), {}, [])
    assert (len(sessions), small.session_id) == (1, 0)
    assert not sessions.open(session(*range(PARTITIONS_MAX + 1)))


class FakeTopics:
    """Topics by name, and their ids."""

    def __init__(self, **ids: bytes) -> None:
        self.ids = ids

    def get(self, name: str) -> Any:
        return SimpleNamespace(name=name) if name in self.ids else None

    def by_id(self, topic_id: bytes) -> Any:
        names = [name for name, known in self.ids.items() if known == topic_id]
        return self.get(names[0]) if names else None


def test_a_topic_that_becomes_known_is_read() -> None:
    text = "its id as text"
    unknown = wanted(0, name=text)
    key = TopicPartition(text, 0)
    refused = {key: unknown[key]._replace(refusal=ErrorCode.UNKNOWN_TOPIC_ID)}
    kept = FetchSession(refused, {text: ID}, 0, by_id=True)
    nobody: Any = FakeTopics()
    (each,) = kept.to_read(nobody)
    assert each.refusal == ErrorCode.UNKNOWN_TOPIC_ID
    known: Any = FakeTopics(t=ID)
    (each,) = kept.to_read(known)
    assert (each.topic_partition, each.refusal) == (TopicPartition("t", 0), 0)
    assert kept.names() == {ID: "t"}


def test_what_the_client_has_said_anew_is_not_forgotten_for_that() -> None:
    text = "its id as text"
    kept = FetchSession(wanted(0, name=text), {text: ID}, 0, by_id=True)
    key = TopicPartition("t", 0)
    kept.update({key: PartitionFetch(key, 77, 1000)}, {"t": ID}, [])
    known: Any = FakeTopics(t=ID)
    (each,) = kept.to_read(known)
    assert each.fetch_offset == 77


def test_a_topic_that_goes_is_refused() -> None:
    kept = session(0, by_id=True)
    gone: Any = FakeTopics()
    (each,) = kept.to_read(gone)
    assert each.refusal == ErrorCode.UNKNOWN_TOPIC_ID
    again: Any = FakeTopics(t=b"o" * 16)
    (each,) = kept.to_read(again)
    assert each.refusal == ErrorCode.INCONSISTENT_TOPIC_ID


def test_the_topics_of_a_session() -> None:
    sessions = FetchSessions(1)
    kept = session(0, 1)
    assert sessions.open(kept)
    assert sessions.topics_of(kept.session_id) == {NAME}
    assert sessions.topics_of(kept.session_id + 1) == set()
    assert sessions.wanted_of(kept.session_id) == list(kept.wanted.values())
    assert sessions.wanted_of(kept.session_id + 1) == []
