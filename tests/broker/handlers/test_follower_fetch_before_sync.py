"""With durability=commit a follower reads what its leader is still syncing.

So the leader's sync, the way to the follower and the follower's sync are not one
after the other. What that may not change: a record counts once both have it on disk.
"""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.runtime.parked import Parked
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.answers import fetched
from tests.fakes.files import FakeFiles
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

from .records.test_fetch import at, filled, request
from .records.test_follower_fetch import Following, told

PLACE = TopicPartition("t", 0)


def produced(broker: Replicas) -> Any:
    """The answer to one batch with acks=all."""
    answer = broker.manager.append_records(
        {PLACE: batch_of(b"v")}, acks=-1, timeout_ms=30_000
    )
    assert isinstance(answer, Parked)
    return answer


def visible(broker: Replicas) -> list[int]:
    """The base offsets that a consumer gets."""
    answer = fetched(handle_fetch(broker.context(12), request(("t", at(0)))), 12)
    ((partition,),) = [topic.partitions for topic in answer.responses]
    return base_offsets(partition.records)


async def test_it_gets_what_is_not_synced_here(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="commit") as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        follower.begin(at(1))
        waiting = follower.ask()
        answer = produced(broker)
        assert broker.committer.for_directory(_home(broker)).dirty  # no sync has begun
        assert told(await waiting) == {0: ([1], 1)}
        assert not answer.is_done
        assert visible(broker) == [0]


@pytest.mark.parametrize("follower_first", [False, True])
async def test_it_counts_once_both_have_it_on_disk(
    tmp_path: Path, follower_first: bool
) -> None:
    async with replicas(tmp_path, durability="commit") as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        follower.begin(at(1))
        waiting = follower.ask()
        answer = produced(broker)
        await waiting
        steps = [broker.sync, lambda: follower.ask(at(2))]
        if follower_first:
            steps.reverse()
        steps[0]()
        assert not answer.is_done
        assert visible(broker) == [0]
        steps[1]()
        assert answer.is_done
        assert visible(broker) == [0, 1]


async def test_a_leader_without_power_finds_its_follower_ahead(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(
        tmp_path, files, durability="commit", stops_cleanly=False
    ) as broker:
        await filled(broker, batches=1)
        follower = Following(broker, 1)
        epoch = follower.led[0].partition.leadership.epoch
        follower.begin(at(1))
        waiting = follower.ask()
        answer = produced(broker)
        await waiting
        follower.ask(at(2))  # it has synced, we have not
        assert not answer.is_done
        files.power_cut()
    async with replicas(tmp_path, files, durability="commit") as broker:
        await broker.manager.open([PLACE])
        led = LedWithAnother(broker, PLACE)
        led.elect(US)  # it leads again, in a later epoch
        assert led.partition.leadership.epoch > epoch
        session = request(
            ("t", at(2, last_fetched_epoch=epoch)), replica_id=OTHER, max_wait_ms=500
        )
        answered = fetched(handle_fetch(broker.context(12), session), 12)
        ((partition,),) = [topic.partitions for topic in answered.responses]
        there = partition.diverging_epoch  # so it cuts what nobody was told of
        assert there.end_offset == 1
        assert there.epoch < led.partition.leadership.epoch
        assert visible(broker) == [0]


def _home(broker: Replicas) -> Path:
    committer = broker.manager.partition(PLACE).committer
    assert committer is not None
    return committer.directory
