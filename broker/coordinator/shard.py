"""One partition of a coordinator's log with the state that its records add up to.

Invariants:
- The state is changed by `replay` alone (and by decisions in what is never written),
  in the order of the log.
- What a decision writes is replayed before anything else is decided, and answered
  when it is durable, unless it may be lost. If it never will be, the state is ahead
  of the log: the shard has failed, and answers COORDINATOR_NOT_AVAILABLE until the
  broker starts anew.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Generic, TypeVar

from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    NotCoordinator,
)
from odradek.protocol.record_batch import NO_SEQUENCE

from .answers import Answers
from .batches import (
    NOBODY,
    batch_of,
    batch_of_one,
    in_batches,
    in_segments,
    marker_batch,
)
from .coordinator_error import as_coordinator_error
from .decision import Decision, Place, ShardState
from .phase import Phase
from .timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.waiting.awaited_appends import AwaitedFrame
    from odradek.broker.replica.waiting.delayed_produce import (
        AppendResult,
        PendingAppend,
    )
    from odradek.broker.runtime.parked import Parked, T
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.producers.verification_state import VerificationGuard

    from .answers import ShardHost
    from .batches import Encoded
    from .decision import CoordinatorRecord, ProducerIdentity

    Refuse = Callable[[KafkaError], T]

S = TypeVar("S", bound=ShardState)
_new = tuple.__new__
_logger = logging.getLogger(__name__)


class Shard(Generic[S]):
    """Applies decisions to one partition of the log and to its state."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        make_state: Callable[[Shard[S]], S],
        host: ShardHost,
    ) -> None:
        self.topic_partition = topic_partition
        self.phase = Phase.LOADING
        self.timers = Timers(host.clock, self._on_timer)
        self._host = host
        self.answers = Answers(host, topic_partition, self._lose)
        self.state = make_state(self)

    # Phases

    def check_active(self) -> None:
        """See that it can be asked.

        Raises:
            CoordinatorLoadInProgress, CoordinatorNotAvailable: try later.
        """
        if self.phase is Phase.LOADING:
            raise CoordinatorLoadInProgress
        if self.phase is Phase.FAILED:
            raise CoordinatorNotAvailable

    def settled(self) -> S | None:
        """The state, if it can be asked, and nobody has to wait for what it tells."""
        if self.phase is not Phase.ACTIVE:
            return None
        awaited = self.answers.awaited
        is_durable = awaited is None or self.answers.not_durable(awaited) is None
        return self.state if is_durable else None

    def activate(self, tail: PendingAppend | None = None) -> None:
        """Everything is replayed: answer from now on.

        ``tail`` is what other replicas may not have yet, and a leader that comes after
        us would not know: who is told of it waits, as behind an append of our own.
        """
        self.phase = Phase.ACTIVE
        if tail is not None:
            self.answers.note(tail)
        self.state.on_loaded()

    def fail(self, why: object) -> None:
        """Answer nothing any more: the log cannot be read or written."""
        if self.phase is Phase.FAILED:
            return
        _logger.error("the coordinator of %s stops: %s", self.topic_partition, why)
        self._end(CoordinatorNotAvailable())

    def _lose(self, code: int) -> None:
        """What was replayed never will be durable: the state is ahead of the log."""
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self.close()  # another broker leads, and goes on with what it has
        else:
            self.fail(ErrorCode(code).name)

    def close(self) -> None:
        """It is no coordinator any more: answer everybody who waits."""
        if self.phase is not Phase.FAILED:
            self._end(NotCoordinator())

    def _end(self, error: KafkaError) -> None:
        self.phase = Phase.FAILED
        self.timers.close()
        self.state.on_unloaded(error)

    # Decisions

    def act(self, decide: Callable[[S], Decision], refuse: Refuse[T]) -> T | Parked[T]:
        """The answer to what ``decide`` decides, perhaps parked.

        ``refuse`` makes an answer of a `KafkaError`: of one that ``decide`` raises,
        and of what kept the records from becoming durable.
        """
        try:
            if self.phase is not Phase.ACTIVE:
                self.check_active()
            decision = decide(self.state)
            return self.apply(decision, refuse)
        except KafkaError as error:
            return refuse(error)

    def apply(self, decision: Decision, refuse: Refuse[T]) -> T | Parked[T]:
        """Write, replay, and answer when that is durable.

        Raises:
            KafkaError: nothing was written, and nothing has changed. Of more records
                than a segment takes, those of the segments before are kept.
        """
        result, answers = None, self.answers
        if decision.records:
            try:
                if self.phase is Phase.FAILED:  # this broker may lead it anew by now
                    raise CoordinatorNotAvailable
                result = self._append(decision)
            except KafkaError as error:
                if decision.undo is not None:
                    decision.undo(error)
                raise
        elif decision.reads_state and answers.awaited is not None:
            result = answers.not_durable(answers.awaited)
        if result is not None:
            return answers.behind(result, decision, refuse)
        if decision.then is not None:
            self._host.run_soon(decision.then)
        response: T | Parked[T] = decision.response
        return response

    def _append(self, decision: Decision) -> AppendResult | None:
        """Write and replay the records of a decision. None: nobody has to wait."""
        try:
            partition = self._host.replica_manager.asked_for[self.topic_partition]
        except KafkaError as error:  # the topic was deleted
            raise as_coordinator_error(error.code) from error
        result, config = None, partition.config
        now_ms, producer = self._host.clock.now_ms(), decision.producer
        if len(decision.records) == 1 and producer is None:
            usual = self._append_one(partition, decision, now_ms)
            if usual is not None:
                appended, pending = usual
                if pending is None:
                    return None
                self.answers.note(pending, decision.may_be_lost)
                return appended
        batches = [
            (some, batch_of(some, producer, now_ms))
            for some in in_batches(decision.records, config.max_message_bytes)
        ]
        for together in in_segments(batches, config.segment_bytes):
            if result is not None:  # nobody is answered behind these, but they may fail
                self.answers.wait(result, None, self.answers.fail_late)
            result = self._append_together(partition, decision, together, now_ms)
        return result

    def _append_one(
        self, partition: Partition, decision: Decision, now_ms: int
    ) -> tuple[AppendResult, PendingAppend | None] | None:
        """Write and replay the one record of a decision, as most have, the short way.

        None, and nothing was done, where anything is special.

        Raises:
            KafkaError: it cannot be written.
        """
        manager = self._host.replica_manager
        if not partition.is_written and manager.unrecorded:
            return None  # it is to be refused
        key, value = decision.records[0].encode()
        batch, appends = batch_of_one(key, value, now_ms), manager.appends
        try:
            written = appends.append_usual_of_coordinator(partition, batch, now_ms)
        except KafkaError as error:
            refused = appends.refused(self.topic_partition, partition, error, batch)
            raise as_coordinator_error(refused.error_code) from error
        if written is not None and decision.is_replayed:
            self._replay(decision.records, written[0].base_offset, now_ms, NOBODY)
        return written

    def _append_together(
        self,
        partition: Partition,
        decision: Decision,
        together: list[tuple[list[Encoded], memoryview]],
        now_ms: int,
    ) -> AppendResult | None:
        """Write batches, all of them or none, and replay them."""
        base_offset = partition.view.log_end_offset
        batches = tuple(batch for _, batch in together)
        result, pending = self._host.replica_manager.appends.append_as_coordinator(
            partition,
            batches[0] if len(batches) == 1 else batches,
            now_ms,
            decision.guard,
        )
        if result.error_code:
            raise as_coordinator_error(result.error_code)
        if decision.is_replayed:
            producer = decision.producer or NOBODY
            for some, _ in together:
                written = [record for record, _, _ in some]
                self._replay(written, base_offset, now_ms, producer)
                base_offset += len(some)
        if pending is None:
            return None
        self.answers.note(pending, decision.may_be_lost)
        return result

    def _replay(
        self,
        records: Sequence[CoordinatorRecord],
        base_offset: int,
        now_ms: int,
        producer: ProducerIdentity,
    ) -> None:
        replay = self.state.replay
        try:
            for offset, record in enumerate(records, base_offset):
                replay(record, _new(Place, (offset, now_ms, *producer)))
        except Exception as error:
            raise self._left_behind(error) from error

    def _left_behind(self, bug: Exception) -> KafkaError:
        """The log has what the state has not: nothing more can be decided on it."""
        self._host.record_bug(f"replay of {self.topic_partition}", bug)
        self.fail(bug)
        return CoordinatorNotAvailable()

    def write_usual(
        self,
        batch: memoryview,
        replay: Callable[[int], object],
        now_ms: int,
        frame: bytes,
        refuse: Refuse[T],
    ) -> bytes | T | AwaitedFrame | None:
        """Write ``batch``, let ``replay`` apply it from its offset on; then answer.

        ``frame`` is the answer once they are durable. None, and nothing was done, where
        anything is special: then it is for `apply`.
        """
        manager = self._host.replica_manager
        try:
            partition = manager.asked_for[self.topic_partition]
            result = manager.appends.append_usual_of_coordinator(
                partition, batch, now_ms
            )
        except KafkaError:
            return None  # `apply` will say so
        if result is None:
            return None
        appended, pending = result
        try:
            replay(appended[1])
        except Exception as error:
            return refuse(self._left_behind(error))
        if pending is None:
            return frame
        self.answers.pending = self.answers.awaited = pending
        return self.answers.wait_with_frame(frame, appended, refuse, now_ms)

    def run_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` in a later turn of the loop."""
        self._host.run_soon(action)

    # Transactions

    def start_verification(
        self, producer: ProducerIdentity, epoch_bump: bool
    ) -> VerificationGuard | None:
        """The guard for records of a transaction; see `Partition.start_verification`.

        Raises:
            CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator.
            InvalidProducerEpoch: a newer instance of the producer has written here.
        """
        self.check_active()
        try:
            partition = self._host.replica_manager.partition(self.topic_partition)
            return partition.start_verification(
                producer.producer_id,
                NO_SEQUENCE,
                producer.producer_epoch,
                self._host.clock.now_ms(),
                epoch_bump,
            )
        except KafkaError as error:
            raise as_coordinator_error(error.code) from error

    def end_transaction(
        self,
        producer: ProducerIdentity,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> int | Parked[int]:
        """Write the marker that ends a producer's transaction, and replay it.

        The code of the error, 0 when the marker is durable. Codes are the log's own;
        those of a shard that cannot be asked are 14, 15, and 3 without its partition.
        """
        now_ms = self._host.clock.now_ms()
        try:
            self.check_active()
            partition = self._host.replica_manager.partition(self.topic_partition)
            place = Place(partition.view.log_end_offset, now_ms, *producer)
            batch = marker_batch(producer, is_commit, coordinator_epoch, now_ms)
            appends = self._host.replica_manager.appends
            result, pending = appends.append_as_coordinator(
                partition,
                memoryview(batch),
                now_ms,
                transaction_version=transaction_version,
            )
            if not result.error_code:
                self._replay_marker(place, is_commit)
        except KafkaError as error:
            return error.code
        if pending is None:
            return int(result.error_code)
        answers = self.answers
        answers.pending = answers.awaited = pending
        return answers.wait(result, int(ErrorCode.NONE), answers.fail_late)

    def _replay_marker(self, place: Place, is_commit: bool) -> None:
        try:
            self.state.end_transaction(place, is_commit)
        except Exception as error:
            raise self._left_behind(error) from error

    def _on_timer(self, action: Callable[[], object]) -> None:
        """A timer's action may decide something, which then is done."""
        if self.phase is not Phase.ACTIVE:
            return
        try:
            decision = action()
            if isinstance(decision, Decision):
                self.apply(decision, _ignore)
        except KafkaError as error:
            _logger.warning("%s: a timer: %s", self.topic_partition, error)
        except Exception as error:
            self._host.record_bug(f"timer of {self.topic_partition}", error)


def _ignore(error: KafkaError) -> None:
    """Nobody waits for the answer."""
