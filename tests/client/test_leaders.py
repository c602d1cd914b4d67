from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from odradek.client.errors import NoAnswer
from odradek.client.leaders import ask_leaders, by_leader
from odradek.client.retry import Retry
from odradek.protocol.errors import (
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition

A, B, LOST = (TopicPartition("t", number) for number in range(3))
LEADERS = {A: 1, B: 2}


class FakeCluster:
    """Two brokers that lead a partition each; sleeping moves the time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked = 0
        self.known: dict[TopicPartition, int] = {}
        self.retry = Retry(30, lambda: self.now_s, self._sleep)

    def metadata(self, topics: list[str]) -> Any:
        assert topics == ["t"]
        self.asked += 1
        return SimpleNamespace(leader_of=self._leader_of)

    def known_leader(self, place: TopicPartition) -> int | None:
        return self.known.get(place)

    def _leader_of(self, place: TopicPartition) -> int:
        if place not in LEADERS:
            raise UnknownTopicOrPartition
        return LEADERS[place]

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Said(NamedTuple):
    found: dict[TopicPartition, str]
    failed: dict[TopicPartition, KafkaError]


def ask_all(
    answers: dict[TopicPartition, list[KafkaError | OSError | str]],
) -> tuple[dict[TopicPartition, str], dict[TopicPartition, KafkaError], float]:
    """What is found and failed when the leaders answer so, and the seconds it took."""
    cluster: Any = FakeCluster()
    said = Said({}, {})

    def ask(node_id: int, places: Mapping[TopicPartition, None]) -> None:
        for place in places:
            assert LEADERS[place] == node_id
            queue = answers[place]
            answer = queue.pop(0) if len(queue) > 1 else queue[0]
            if isinstance(answer, OSError):
                raise answer
            if isinstance(answer, KafkaError):
                said.failed[place] = answer
            else:
                said.found[place] = answer

    wanted = dict.fromkeys([A, B, LOST])
    ask_leaders(cluster, wanted, said, ask, 3)
    return said.found, said.failed, cluster.now_s


def test_partitions_are_sorted_by_who_leads_them() -> None:
    cluster: Any = FakeCluster()
    failed: dict[TopicPartition, KafkaError] = {}
    assert by_leader(cluster, {A: 5, B: 6, LOST: 7}, failed) == {1: {A: 5}, 2: {B: 6}}
    assert isinstance(failed[LOST], UnknownTopicOrPartition)
    assert by_leader(cluster, {}, failed) == {}


def test_who_answers_is_asked_once() -> None:
    found, failed, took_s = ask_all({A: ["a"], B: ["b"]})
    assert found == {A: "a", B: "b"}
    assert list(failed) == [LOST]
    assert took_s == 0


def test_a_leader_that_changes_is_asked_again_and_the_others_are_not() -> None:
    again: list[KafkaError | OSError | str] = [NotLeaderOrFollower(), "b"]
    found, failed, took_s = ask_all({A: ["a", "not again"], B: again})
    assert found == {A: "a", B: "b"}
    assert list(failed) == [LOST]
    assert took_s > 0


def test_what_does_not_settle_has_its_error_in_the_end() -> None:
    found, failed, took_s = ask_all({A: [LeaderNotAvailable()], B: [OSError("gone")]})
    assert found == {}
    assert isinstance(failed[A], LeaderNotAvailable)
    assert isinstance(failed[B], NetworkException)
    assert 1 < took_s <= 3


class Leader:
    """Leads A and B, where they are known to be led by it; says what it is told to."""

    def __init__(self, *answers: KafkaError | OSError | None) -> None:
        self.cluster = FakeCluster()
        self.cluster.known = {A: 1, B: 1}
        self.said = Said({}, {})
        self.asked: list[tuple[int, list[TopicPartition]]] = []
        self._answers = list(answers)

    def ask(self, *wanted: TopicPartition) -> None:
        cluster: Any = self.cluster
        ask_leaders(cluster, dict.fromkeys(wanted), self.said, self._answer, 3)

    def _answer(self, node_id: int, places: Mapping[TopicPartition, None]) -> None:
        self.asked.append((node_id, list(places)))
        for place in places:
            answer = self._answers.pop(0) if self._answers else None
            if isinstance(answer, NoAnswer):
                self.cluster.now_s += 30
            if isinstance(answer, OSError):
                raise answer
            if answer is None:
                self.said.found[place] = "yes"
            else:
                self.said.failed[place] = answer


def test_leaders_that_are_known_are_asked_at_once() -> None:
    leader = Leader()
    leader.ask(A, B)
    assert leader.said == ({A: "yes", B: "yes"}, {})
    assert leader.asked == [(1, [A, B])]
    assert leader.cluster.asked == 0


def test_one_that_is_not_known_is_asked_for() -> None:
    leader = Leader()
    leader.cluster.known = {A: 1}
    leader.ask(A, B, LOST)
    assert leader.said.found == {A: "yes", B: "yes"}
    assert leader.asked == [(1, [A]), (2, [B])]
    assert (list(leader.said.failed), leader.cluster.asked) == ([LOST], 1)


@pytest.mark.parametrize(
    "error", [NotLeaderOrFollower(), UnknownTopicOrPartition(), ConnectionError()]
)
def test_what_a_known_leader_refuses_the_one_of_now_is_asked(
    error: KafkaError | OSError,
) -> None:
    leader = Leader(error)
    leader.ask(B)
    assert leader.said == ({B: "yes"}, {})
    assert leader.asked == [(1, [B]), (2, [B])]
    assert (leader.cluster.asked, leader.cluster.now_s) == (1, 0)


def test_a_known_leader_that_hangs_is_waited_for_once() -> None:
    leader = Leader(NoAnswer("no answer in 30 s"))
    leader.ask(A)
    assert list(leader.said.failed) == [A]
    assert (len(leader.asked), leader.cluster.now_s) == (1, 30)
