from typing import NamedTuple, cast

import pytest

from odradek.broker.metadata.topics import Topics
from odradek.broker.requests import known_requests
from odradek.broker.requests.known_requests import KnownRequests, topic_is_gone
from odradek.protocol.topic_partition import TopicPartition


class Ask(NamedTuple):
    key: TopicPartition
    topic_id: bytes


class FakeTopic(NamedTuple):
    name: str


class FakeTopics:
    """Those that there are, by name and by id."""

    def __init__(self) -> None:
        self.names: dict[str, bytes] = {}

    def get(self, name: str) -> FakeTopic | None:
        return FakeTopic(name) if name in self.names else None

    def by_id(self, topic_id: bytes) -> FakeTopic | None:
        found = [name for name, each in self.names.items() if each == topic_id]
        return FakeTopic(found[0]) if found else None


def known_of(topics: FakeTopics, is_by_id: bool = True) -> KnownRequests[Ask]:
    return KnownRequests(topic_is_gone(cast(Topics, topics), is_by_id))


def learn(known: KnownRequests[Ask], topics: FakeTopics, number: int) -> bool:
    name, topic_id = f"t{number}", b"%016d" % number
    topics.names[name] = topic_id
    if not known.has_room():
        return False
    known.by_bytes[b"%d" % number] = Ask(TopicPartition(name, 0), topic_id)
    return True


def test_where_there_are_too_many_all_begin_anew_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_requests, "KEPT_MAX", 3)
    topics = FakeTopics()
    known = known_of(topics)
    learnt = [number for number in range(8) if learn(known, topics, number)]
    assert learnt == [0, 1, 2, 5, 6, 7]
    assert list(known.by_bytes) == [b"5", b"6", b"7"]


@pytest.mark.parametrize("is_by_id", [True, False])
def test_what_is_of_deleted_topics_goes(is_by_id: bool) -> None:
    topics = FakeTopics()
    known = known_of(topics, is_by_id)
    for number in range(3000):
        assert learn(known, topics, number)
        if number >= 100:  # the first stay
            del topics.names[f"t{number}"]
        assert len(known.by_bytes) < 400
    assert all(b"%d" % number in known.by_bytes for number in range(100))


def test_a_topic_that_was_made_anew_is_another_by_its_id_only() -> None:
    for is_by_id in (True, False):
        topics = FakeTopics()
        known = known_of(topics, is_by_id)
        learn(known, topics, 0)
        topics.names["t0"] = b"another id......"
        for number in range(1, 300):
            learn(known, topics, number)
        assert (b"0" in known.by_bytes) is not is_by_id
