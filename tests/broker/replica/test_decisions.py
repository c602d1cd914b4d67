from pathlib import Path

import pytest

from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import NotLeaderOrFollower
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import Replicas, replicas

T0 = TopicPartition("t", 0)
US, ANOTHER = 1, 2


def led_by(leader: int, epoch: int, partition_epoch: int) -> LeaderAndIsr:
    return LeaderAndIsr(leader, epoch, (leader,), (leader,), partition_epoch)


def epoch_of(broker: Replicas) -> int:
    return broker.manager.partition(T0).leadership.epoch


async def test_who_was_decided_before_it_was_asked_for_leads(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        Decisions(US, broker.manager, {T0: led_by(US, 4, 0)}.get)
        await broker.create_topic()
        broker.manager.partition(T0).leadership.check(4)


async def test_a_partition_of_another_broker_is_not_led_here(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        Decisions(US, broker.manager, {T0: led_by(ANOTHER, 4, 0)}.get)
        await broker.create_topic()
        with pytest.raises(NotLeaderOrFollower):
            broker.manager.partition(T0).leadership.check()


async def test_only_who_has_a_copy_can_be_read(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        decided = LeaderAndIsr(ANOTHER, 4, (ANOTHER, US), (ANOTHER,), 0)
        decisions = Decisions(US, broker.manager, {}.get)
        await broker.create_topic()
        decisions = Decisions(US, broker.manager, {T0: decided}.get)
        decisions.decide(T0, decided)
        leadership = broker.manager.partition(T0).leadership
        leadership.check_replica(4)
        with pytest.raises(NotLeaderOrFollower):
            leadership.check(4)
        decisions.decide(T0, led_by(ANOTHER, 5, 1))
        with pytest.raises(NotLeaderOrFollower):
            leadership.check_replica()


async def test_what_nobody_has_decided_on_is_not_led(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        Decisions(US, broker.manager, {}.get)
        await broker.create_topic()
        with pytest.raises(NotLeaderOrFollower):
            broker.manager.partition(T0).leadership.check()


async def test_leadership_goes_and_returns(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        decided = {T0: led_by(US, 4, 0)}
        decisions = Decisions(US, broker.manager, decided.get)
        await broker.create_topic()
        leadership = broker.manager.partition(T0).leadership
        decisions.decide(T0, led_by(ANOTHER, 5, 1))
        with pytest.raises(NotLeaderOrFollower):
            leadership.check()
        decisions.decide(T0, led_by(US, 6, 2))
        leadership.check(6)
        decisions.decide(T0, led_by(ANOTHER, 5, 1))  # late
        leadership.check(6)


async def test_who_was_not_asked_for_is_not_made(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        decided = {T0: led_by(ANOTHER, 4, 0)}
        decisions = Decisions(US, broker.manager, decided.get)
        await broker.create_topic()
        decided[T0] = led_by(US, 5, 1)
        decisions.decide(T0, decided[T0])
        assert epoch_of(broker) == 5


async def test_who_was_not_decided_on_is_led_once_it_is(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        decisions = Decisions(US, broker.manager, {}.get)
        await broker.create_topic()
        leadership = broker.manager.partition(T0).leadership
        with pytest.raises(NotLeaderOrFollower):
            leadership.check_replica()
        decisions.decide(T0, led_by(US, 4, 0))
        leadership.check(4)
