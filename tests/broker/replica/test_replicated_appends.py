"""Appends where another broker has a copy, however durable ours has to be."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.appends import AppendResults
from odradek.broker.replica.partition.leadership import SETTLING_MS
from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.fakes.replicas import Replicas, batch_of, replicas

every_durability = pytest.mark.parametrize("durability", ["commit", "interval", "none"])
WITHOUT_COMMIT = ["interval", "none"]


class Answered:
    """What became of two batches: their codes, None while nobody knows.

    One was sent alone, as usual ones are, the other in a request for several.
    """

    timeout_ms = 30_000
    is_admin = False

    def __init__(self, broker: Replicas, place: TopicPartition, acks: int = -1) -> None:
        self.key, self.acks = place, acks
        appends = broker.manager.appends
        if broker.manager.partition(place).log is None:  # the usual batch needs one
            broker.manager.append_records({place: batch_of(b"v")}, acks=1, timeout_ms=0)
        self._answers: list[Any] = [
            appends.append_one(self, batch_of(b"v"), 0),
            appends.append({place: batch_of(b"v")}, acks, self.timeout_ms, _code_of),
        ]

    def respond(self, result: AppendResult) -> Any:
        return result.error_code

    def frame(self, correlation_id: int, *_: int) -> Any:
        return ErrorCode.NONE

    @property
    def codes(self) -> list[int | None]:
        return [
            each
            if not isinstance(each, Parked)
            else (each.result() if each.done() else None)
            for each in self._answers
        ]


def _code_of(results: AppendResults) -> int:
    ((_, result),) = results.items()
    return result.error_code


WAITING, DONE = [None, None], [ErrorCode.NONE, ErrorCode.NONE]


async def led(broker: Replicas, **options: str) -> tuple[TopicPartition, Any]:
    place = await broker.create_topic(**options)
    return place, LedWithAnother(broker, place)


@every_durability
async def test_acks_all_waits_for_the_other_copy(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        place, with_another = await led(broker)
        answered = Answered(broker, place)
        if durability == "commit":
            await broker.commit()
        await asyncio.sleep(0)
        assert answered.codes == WAITING
        with_another.copy()
        assert answered.codes == DONE


@pytest.mark.parametrize("durability", WITHOUT_COMMIT)
async def test_acks_1_waits_for_nobody(tmp_path: Path, durability: str) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        place, _ = await led(broker)
        assert Answered(broker, place, acks=1).codes == DONE


@pytest.mark.parametrize("durability", WITHOUT_COMMIT)
async def test_who_is_alone_in_sync_answers_at_once(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        place, with_another = await led(broker)
        with_another.elect(US, US)
        assert Answered(broker, place).codes == DONE


@every_durability
@pytest.mark.parametrize("copied_first", [False, True])
async def test_flush_messages_asks_for_both(
    tmp_path: Path, durability: str, copied_first: bool
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        place, with_another = await led(broker, flush_messages="1")
        answered = Answered(broker, place)
        if copied_first:
            with_another.copy()
            assert answered.codes == WAITING
            await broker.commit()
        else:
            await broker.commit()
            assert answered.codes == WAITING
            with_another.copy()
        assert answered.codes == DONE


@pytest.mark.parametrize("durability", WITHOUT_COMMIT)
async def test_a_repetition_waits_as_its_original_does(
    tmp_path: Path, durability: str
) -> None:
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    async with replicas(tmp_path, durability=durability) as broker:
        place, with_another = await led(broker)
        original, again = (
            broker.manager.append_records(
                {place: batch_of(b"v", **producer)}, acks=-1, timeout_ms=30_000
            )
            for _ in range(2)
        )
        assert not original.done()
        assert not again.done()
        with_another.copy()
        assert [each.result()[place].base_offset for each in (original, again)] == [
            0,
            0,
        ]


@pytest.mark.parametrize("durability", WITHOUT_COMMIT)
async def test_a_coordinator_waits_for_the_other_copy(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        place, with_another = await led(broker)
        partition, appends = broker.manager.partition(place), broker.manager.appends
        now_ms = broker.clock.now_ms()
        _, pending = appends.append_as_coordinator(partition, batch_of(b"v"), now_ms)
        assert pending == (partition, 1, Until.REPLICATED)
        usual = appends.append_usual_of_coordinator(partition, batch_of(b"v"), now_ms)
        assert usual is not None
        assert usual[1] == (partition, 2, Until.REPLICATED)
        with_another.elect(US, US)
        usual = appends.append_usual_of_coordinator(partition, batch_of(b"v"), now_ms)
        assert usual is not None
        assert usual[1] is None


class Pipelining:
    """A producer that sends its batches, of one record, before the first is answered.

    ``acks``: so that nothing has to be copied for an answer.
    """

    acks, timeout_ms, is_admin = 1, 30_000, False

    def __init__(self, broker: Replicas, place: TopicPartition) -> None:
        self.key = place
        self._appends = broker.manager.appends

    def respond(self, result: AppendResult) -> Any:
        return result.error_code

    def frame(self, correlation_id: int, *_: int) -> Any:
        return ErrorCode.NONE

    def send(self, sequence: int, *, alone: bool) -> Any:
        """Its code; None: as one that is not led here, which the caller asks again."""
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        batch = batch_of(b"v", **producer)
        if alone:
            return self._appends.append_one(self, batch, 0)
        entries = {self.key: batch}
        return self._appends.append(entries, self.acks, self.timeout_ms, _code_of)


@pytest.mark.parametrize("alone", [True, False])
async def test_what_follows_a_refused_batch_is_refused_alike(
    tmp_path: Path, *, alone: bool
) -> None:
    """Its client would take OUT_OF_ORDER_SEQUENCE_NUMBER for the end of its epoch."""
    async with replicas(tmp_path, durability="none") as broker:
        place, with_another = await led(broker)
        cluster: Any = broker.manager.cluster
        producer = Pipelining(broker, place)

        def sent(*sequences: int) -> list[Any]:
            return [producer.send(each, alone=alone) for each in sequences]

        with_another.elect(OTHER)
        assert sent(0) == [None if alone else ErrorCode.NOT_LEADER_OR_FOLLOWER]
        with_another.elect(US)
        assert sent(1, 2) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
        assert sent(0, 1, 2) == [ErrorCode.NONE] * 3
        assert sent(1, 4) == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
        cluster.time_ms += SETTLING_MS  # what is missing now does not come any more
        assert sent(4, 3) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.NONE]


async def test_one_that_was_refused_while_too_few_were_in_sync_may_come_again(
    tmp_path: Path,
) -> None:
    options = {"min_insync_replicas": "2"}
    async with replicas(tmp_path, durability="none") as broker:
        place, with_another = await led(broker, **options)
        cluster: Any = broker.manager.cluster
        cluster.time_ms += SETTLING_MS
        producer = Pipelining(broker, place)
        producer.acks = -1
        with_another.elect(US, US)
        assert producer.send(0, alone=False) == ErrorCode.NOT_ENOUGH_REPLICAS
        cluster.time_ms += SETTLING_MS
        replicated = with_another.partition.leadership.replicas
        with_another.partition.use_in_sync((US, OTHER), replicated.partition_epoch + 1)
        assert producer.send(1, alone=False) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        producer.acks = 1
        assert producer.send(0, alone=False) == ErrorCode.NONE
