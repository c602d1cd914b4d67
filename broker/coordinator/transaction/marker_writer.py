"""Writes the markers that end transactions, until every one of them is durable.

A marker goes into the partition's log with origin COORDINATOR. One for offsets goes
through the group coordinator, which applies it to what is pending. Partitions that
another broker leads are written by that one.

A partition is done when its marker is durable; when it is no more; and when it has
moved on to a higher epoch, which has ended the transaction there. Everything else is
tried again, for as long as it takes: a log may still be opening, a disk full, or the
leader another one. It ends when the coordinator does: the next one begins anew.
"""

from __future__ import annotations

import logging
from collections import ChainMap
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.broker.coordinator.batches import marker_batch
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.broker.replica.appends import AppendTerms
from odradek.broker.replica.partition.partition import ACKS_ALL
from odradek.broker.replica.waiting.awaited_appends import AwaitedAppend
from odradek.broker.replica.waiting.awaited_sync import NO_TIMEOUT_MS
from odradek.broker.runtime.memory.limits import LimitedLog
from odradek.broker.runtime.parked import Parked, gathered
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.producers.marker import BuiltMarker

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.other_brokers import OtherBrokers
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.replica.waiting.delayed_produce import (
        AppendResult,
        PendingAppend,
    )
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition

    from .shard import Markers

FIRST_RETRY_MS = 10
RETRY_MAX_MS = 1_000
# A newer producer, or a newer coordinator, has ended the transaction there.
_MOVED_ON = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
)
_MAY_BE_GONE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
)

_new = tuple.__new__
_logger = logging.getLogger(__name__)


class EndsOffsets(Protocol):
    """The group coordinator, as far as markers concern it."""

    def end_transaction(
        self,
        topic_partition: TopicPartition,
        producer: ProducerIdentity,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> int | Parked[int]:
        """The error code, perhaps parked, of a marker in ``__consumer_offsets``."""


class Marker(NamedTuple):
    """What is written into each of the partitions."""

    producer: ProducerIdentity
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int

    def build(self, now_ms: int) -> bytearray:
        """The batch."""
        return marker_batch(
            self.producer, self.is_commit, self.coordinator_epoch, now_ms
        )


class LogMarkerWriter:
    """A `MarkerWriter` for the logs of this broker, and those of ``other_brokers``."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        groups: EndsOffsets,
        topics: Topics,
        clock: Clock,
        run_soon: Callable[[Callable[[], object]], None],
    ) -> None:
        self._replica_manager = replica_manager
        self._groups = groups
        self._topics = topics
        self._clock = clock
        self._run_soon = run_soon
        self._log = LimitedLog(clock, _logger.warning)
        self._is_closed = False
        self.other_brokers: OtherBrokers | None = None  # this one leads everything

    def close(self) -> None:
        """Try nothing again: the next broker goes on with what is prepared."""
        self._is_closed = True

    def write(self, markers: Markers, on_done: Callable[[], object]) -> None:
        """Write every marker; then, and only then, call ``on_done``, once."""
        coordinator = self._replica_manager.asked_for[markers.coordinator]
        marker = Marker(
            ProducerIdentity(markers.producer_id, markers.producer_epoch),
            markers.is_commit,
            coordinator.leadership.epoch,
            markers.client_version,
        )
        leadership = coordinator.leadership

        def is_wanted() -> bool:
            return leadership.replicas.is_leader and (
                leadership.epoch == marker.coordinator_epoch
            )

        self._try(marker, markers.partitions, on_done, FIRST_RETRY_MS, is_wanted)

    def write_each(
        self,
        marker: Marker,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[], object],
    ) -> None:
        """Write a marker into each of the partitions, as above."""
        self._try(marker, partitions, on_done, FIRST_RETRY_MS, lambda: True)

    def append(
        self, marker: Marker, partitions: tuple[TopicPartition, ...]
    ) -> dict[TopicPartition, int] | Parked[dict[TopicPartition, int]]:
        """Write a marker into each, once. The error codes, when they are durable."""
        if len(partitions) == 1 and partitions[0].topic != CONSUMER_OFFSETS:
            return self._append_to_one(marker, partitions[0])
        answers: list[Any] = [
            self._groups.end_transaction(each, *marker)
            for each in partitions
            if each.topic == CONSUMER_OFFSETS
        ]
        offsets = [each for each in partitions if each.topic == CONSUMER_OFFSETS]
        others = [each for each in partitions if each.topic != CONSUMER_OFFSETS]
        answers.append(self._append_to_logs(marker, others) if others else {})

        def finish(answered: list[Any]) -> dict[TopicPartition, int]:
            *codes, of_others = answered
            return {**dict(zip(offsets, codes, strict=True)), **of_others}

        return gathered(answers, finish)

    def _append_everywhere(
        self,
        others: OtherBrokers,
        marker: Marker,
        partitions: tuple[TopicPartition, ...],
    ) -> dict[TopicPartition, int] | Parked[dict[TopicPartition, int]]:
        """The same, at whichever brokers the partitions are led."""
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for each in partitions:
            by_leader.setdefault(others.leader_of(each), []).append(each)
        answers: list[Any] = []
        for leader, led in by_leader.items():
            if leader is None:
                answers.append(dict.fromkeys(led, ErrorCode.LEADER_NOT_AVAILABLE))
            elif leader == others.node_id:
                answers.append(self.append(marker, tuple(led)))
            else:
                answers.append(others.write_markers(leader, marker, tuple(led)))
        return gathered(answers, lambda found: dict(ChainMap(*found)))

    def _append_to_one(
        self, marker: Marker, key: TopicPartition
    ) -> dict[TopicPartition, int] | Parked[dict[TopicPartition, int]]:
        """The same for one partition, as most transactions have: half as dear."""
        manager, now_ms = self._replica_manager, self._clock.now_ms()
        try:
            partition = manager.asked_for[key]
        except KafkaError as error:
            return {key: error.code}
        batch = memoryview(marker.build(now_ms))
        usual = self._append_usual(partition, batch, marker, now_ms)
        result, pending = usual or manager.appends.append_as_coordinator(
            partition,
            batch,
            now_ms,
            transaction_version=marker.transaction_version,
        )
        codes = {key: result.error_code}
        if pending is None:
            return codes
        answer = AwaitedAppend(codes, result, lambda failed: {key: failed.error_code})
        manager.appends.awaiting.add_patient(partition, answer, pending.until, now_ms)
        return answer

    def _append_usual(
        self, partition: Partition, batch: memoryview, marker: Marker, now_ms: int
    ) -> tuple[AppendResult, PendingAppend | None] | None:
        """Append it the short way. None, and nothing was done: that is not for it."""
        manager = self._replica_manager
        if not partition.is_written and manager.unrecorded:
            return None  # it is to be refused
        said = _new(BuiltMarker, (*marker.producer, *marker[1:]))
        try:
            return manager.appends.append_usual_of_coordinator(
                partition, batch, now_ms, said
            )
        except KafkaError:
            return None  # the long way will say so

    def _append_to_logs(
        self, marker: Marker, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int] | Parked[dict[TopicPartition, int]]:
        batch = marker.build(self._clock.now_ms())
        return self._replica_manager.append_records(
            # Each log writes its own offset into the bytes.
            {each: memoryview(bytearray(batch)) for each in partitions},
            acks=ACKS_ALL,
            timeout_ms=NO_TIMEOUT_MS,
            terms=AppendTerms(
                AppendOrigin.COORDINATOR, transaction_version=marker.transaction_version
            ),
            finish=lambda results: {
                each: result.error_code for each, result in results.items()
            },
        )

    def _try(
        self,
        marker: Marker,
        partitions: tuple[TopicPartition, ...],
        on_done: Callable[[], object],
        retry_ms: int,
        is_wanted: Callable[[], bool],
    ) -> None:
        if self._is_closed or not is_wanted():
            return

        def look(answer: Parked) -> None:
            try:
                codes = answer.result()
            except KafkaError as error:
                codes = dict.fromkeys(partitions, error.code)
            left = tuple(
                each for each, code in codes.items() if not self._is_done(each, code)
            )
            if not left:
                on_done()
                return
            if retry_ms >= RETRY_MAX_MS:
                where, why = ", ".join(map(str, left)), ErrorCode(codes[left[0]]).name
                self._log.warn(
                    "the end of a transaction of producer "
                    f"{marker.producer.producer_id} cannot be written to {where} yet "
                    f"({why})"
                )
            next_ms = min(2 * retry_ms, RETRY_MAX_MS)
            again = partial(self._try, marker, left, on_done, next_ms, is_wanted)
            self._clock.call_later(retry_ms, lambda: self._run_soon(again))

        if self.other_brokers is None:
            answer = self.append(marker, partitions)
        else:
            answer = self._append_everywhere(self.other_brokers, marker, partitions)
        if isinstance(answer, Parked):
            answer.listen(lambda parked: self._run_soon(partial(look, parked)))
            return
        if not any(answer.values()):
            self._run_soon(on_done)  # as it nearly always is
            return
        parked = Parked()
        parked.set_result(answer)
        self._run_soon(partial(look, parked))

    def _is_done(self, topic_partition: TopicPartition, code: int) -> bool:
        if code in _MOVED_ON:
            _logger.info(
                "%s has moved on (%s): it takes no marker",
                topic_partition,
                ErrorCode(code).name,
            )
            return True
        if code in _MAY_BE_GONE:
            others = self.other_brokers
            if others is not None:
                return not others.has(topic_partition)
            return self._topics.partition(topic_partition) is None
        return code == ErrorCode.NONE
