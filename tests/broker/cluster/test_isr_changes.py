from typing import Any

from odradek.broker.cluster.isr_changes import IsrChanges
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.alter_partition import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
)

ID = b"t" * 16


class World:
    """Changes, and what the leaders heard."""

    def __init__(self) -> None:
        self.changes = IsrChanges(1)
        self.heard: list[Any] = []

    def propose(self, number: int = 0, *in_sync: int) -> LeaderAndIsr:
        wanted = LeaderAndIsr(1, 3, (1, 2), in_sync or (1, 2), 5, (-1, 200))
        self.changes.propose(ID, number, wanted, self.heard.append)
        return wanted

    def asked(self) -> list[int]:
        request = self.changes.next_request(100)
        return (
            []
            if request is None
            else [each.partition_index for each in request.topics[0].partitions]
        )

    def asked_isr(self) -> list[int]:
        request = self.changes.next_request(100)
        assert request is not None
        return list(request.topics[0].partitions[0].new_isr)

    def answer(self, *partitions: AlteredPartition, code: int = 0) -> int:
        topics = [AlteredTopic(topic_id=ID, partitions=list(partitions))]
        return self.changes.take(AlterPartitionResponse(error_code=code, topics=topics))


def altered(number: int = 0, code: int = 0) -> AlteredPartition:
    return AlteredPartition(
        partition_index=number,
        error_code=code,
        leader_id=1,
        leader_epoch=3,
        isr=[1, 2],
        partition_epoch=6,
    )


def test_all_that_waits_is_asked_for_at_once() -> None:
    world = World()
    world.propose(0)
    world.propose(1)
    request = world.changes.next_request(100)
    assert request is not None
    assert (request.broker_id, request.broker_epoch) == (1, 100)
    first, second = request.topics[0].partitions
    assert (first.partition_index, second.partition_index) == (0, 1)
    assert (first.leader_epoch, first.partition_epoch) == (3, 5)
    assert first.leader_recovery_state == 0
    told = [(each.broker_id, each.broker_epoch) for each in first.new_isr_with_epochs]
    assert told == [(1, 100), (2, 200)]
    assert first.new_isr == [1, 2]


def test_nothing_is_asked_for_nothing() -> None:
    assert World().asked() == []


def test_the_leader_hears_what_was_decided() -> None:
    world = World()
    world.propose()
    world.asked()
    assert world.answer(altered()) == 0
    assert world.heard == [LeaderAndIsr(1, 3, (1, 2), (1, 2), 6)]
    assert world.asked() == []


def test_the_leader_hears_why_not() -> None:
    world = World()
    world.propose()
    world.asked()
    world.answer(altered(code=95))
    (error,) = world.heard
    assert isinstance(error, KafkaError)
    assert error.code == 95


def test_an_answer_is_heard_also_when_a_newer_proposal_waits() -> None:
    world = World()
    world.propose(0, 1)
    world.asked()
    world.propose(0, 1, 2)
    world.answer(altered())
    assert len(world.heard) == 1
    assert world.asked() == [0]
    world.propose(0, 1)
    world.answer(altered(code=41))
    assert world.asked_isr() == [1], "the newer one"


def test_what_is_proposed_besides_is_in_the_way_of_nothing() -> None:
    world = World()
    wanted = world.propose(0, 1, 2)
    newer = wanted._replace(in_sync=(1,), partition_epoch=6)
    world.changes.propose_besides(ID, 0, newer._replace(partition_epoch=5), print)
    assert world.asked_isr() == [1, 2]
    world.answer(altered())
    assert len(world.heard) == 1
    world.propose(0, 1, 2)  # of a state that is over
    world.changes.propose_besides(ID, 0, newer, print)
    assert world.asked_isr() == [1]


def test_who_is_refused_does_not_ask_again_at_once() -> None:
    world = World()
    # As an unknown error has it done.
    world.changes.propose(ID, 0, world.propose(), lambda _: world.propose())
    world.asked()
    assert world.answer(altered(code=13)) > 0
    assert world.asked() == [0]


def test_others_are_meant_as_they_were_when_it_was_proposed() -> None:
    world = World()
    world.propose()
    world.changes.next_request(100)
    world.changes.lost()
    request = world.changes.next_request(101)
    assert request is not None
    told = request.topics[0].partitions[0].new_isr_with_epochs
    assert [(each.broker_id, each.broker_epoch) for each in told] == [
        (1, 101),
        (2, 200),
    ]


def test_what_another_controller_has_to_decide_is_asked_for_again() -> None:
    world = World()
    world.propose(0)
    world.propose(1)
    world.asked()
    assert world.answer(altered(0, code=41), altered(1)) > 0
    assert world.asked() == [0]
    assert world.answer(code=41) > 0
    assert world.asked() == [0]


def test_who_is_not_registered_asks_again_soon() -> None:
    world = World()
    world.propose()
    world.asked()
    assert world.answer(code=77) == 50
    assert world.asked() == [0]


def test_a_lost_answer_is_asked_for_again_but_for_what_is_newer() -> None:
    world = World()
    world.propose(0, 1)
    world.asked()
    world.propose(0, 1, 2)
    assert world.changes.lost() > 0
    request = world.changes.next_request(100)
    assert request is not None
    assert request.topics[0].partitions[0].new_isr == [1, 2]


def test_of_what_nothing_is_said_is_asked_for_again() -> None:
    world = World()
    world.propose(0)
    world.asked()
    assert world.answer() > 0
    assert world.asked() == [0]
