"""Share partitions whose coordinators are at several brokers: each has its own.

Who coordinates is known by who leads the partition with the records. A coordinator that
has moved, is loading or gives no answer is asked again for a while: whoever waits has
nobody else to ask.

Invariants: of what is written of one share partition nothing is on its way while
something else of it is, also when who wrote it was told that it took too long. What
waits meanwhile goes together: of a start that is late nobody would know that it is.
What is read comes behind what was written before.
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from odradek.broker.runtime.parked import Parked, gathered
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, KafkaError

from .questions import (
    WITHOUT_STATES,
    DeleteState,
    InitialiseState,
    ReadState,
    SummariseState,
    WriteState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from odradek.broker.coordinator.other_brokers import OtherBrokers
    from odradek.broker.runtime.clock import Clock, TimerHandle

    from .questions import StateQuestion
    from .service import Results, ShareCoordinator, Summaries
    from .state import ShareKey, StateUpdate, StoredState

T = TypeVar("T")

# Below request.timeout.ms: who asked is told before it gives up, answer or not.
PATIENCE_MS: Final = 25_000
_AGAIN_MS, _AGAIN_MS_MAX = 20, 1_000
_LATER: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class _Waiting:
    """Who waits for the answer to a question, but not for ever."""

    def __init__(self, question: StateQuestion, clock: Clock) -> None:
        self.question = question
        self.answer: Parked[Any] = Parked()
        self.deadline_ms = clock.monotonic_ms() + PATIENCE_MS
        self._clock = clock
        self._timer: TimerHandle | None = None

    @property
    def has_given_up(self) -> bool:
        """Whether it was told that there is no answer."""
        return self.answer.done()

    def wait(self) -> Parked[Any]:
        """The answer, when it was asked for; in time, whatever becomes of that."""
        if not self.answer.done():
            self._timer = self._clock.call_later(PATIENCE_MS, self._give_up)
        return self.answer

    def take(self, answered: Parked[Any]) -> None:
        """Here it is."""
        if self.has_given_up:
            return
        if self._timer is not None:
            self._timer.cancel()
        self.answer.follow(answered)

    def _give_up(self) -> None:
        self.answer.set_result(CoordinatorNotAvailable())


class ShareStates(Protocol):
    """The coordinator here, or all of the cluster's; see `ShareCoordinator`."""

    @property
    def watchers(self) -> list[Callable[[ShareKey], object]]:
        """Told of share partitions that begin anew, or are forgotten."""

    def read(
        self, key: ShareKey, leader_epoch: int
    ) -> StoredState | KafkaError | Parked[StoredState | KafkaError]:
        """All that is known, for the leader of that epoch."""

    def write(
        self, key: ShareKey, update: StateUpdate
    ) -> KafkaError | Parked[KafkaError | None] | None:
        """Keep what has changed."""

    def initialise(
        self,
        starts: Mapping[ShareKey, int],
        state_epoch: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        """Have them begin at these offsets."""

    def summarise(
        self, keys: Iterable[ShareKey], finish: Callable[[Summaries], T]
    ) -> T | Parked[T]:
        """Say where they are."""

    def delete(
        self, keys: Iterable[ShareKey], finish: Callable[[Results], T]
    ) -> T | Parked[T]:
        """Forget them."""


class ShareStatesAnywhere:
    """A `ShareStates` for a broker of a cluster."""

    def __init__(
        self, here: ShareCoordinator, others: OtherBrokers, clock: Clock
    ) -> None:
        self._here = here
        self._others = others
        self._clock = clock
        # What waits for the write before it, by the share partitions that have one.
        self._waiting: dict[ShareKey, list[_Waiting]] = {}

    @property
    def watchers(self) -> list[Callable[[ShareKey], object]]:
        """Told of share partitions that begin anew, if they are kept here.

        Of others it is found out when something is written: their epoch is a new one.
        """
        return self._here.watchers

    # One share partition

    def read(
        self, key: ShareKey, leader_epoch: int
    ) -> Parked[StoredState | KafkaError]:
        """See `ShareCoordinator.read`."""
        asked = _Waiting(ReadState(key, leader_epoch), self._clock)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(asked)  # it is to find what is being written
        else:
            self._put(asked)
        return asked.wait()

    def write(self, key: ShareKey, update: StateUpdate) -> Parked[KafkaError | None]:
        """See `ShareCoordinator.write`."""
        write = _Waiting(WriteState(key, update), self._clock)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(write)
        else:
            self._waiting[key] = []
            self._write(key, [write])
        return write.wait()

    def _write(self, key: ShareKey, writes: Sequence[_Waiting]) -> None:
        update = _together([_update_of(each) for each in writes])
        answer = self._ask(WriteState(key, update), writes[-1].deadline_ms)
        answer.listen(partial(self._written, key, writes))

    def _written(
        self, key: ShareKey, writes: Sequence[_Waiting], answered: Parked[Any]
    ) -> None:
        if self._waiting[key]:
            # Later: who answers may be in the middle of a change.
            self._clock.call_later(0, partial(self._go_on, key))
        else:
            del self._waiting[key]
        for each in writes:
            each.take(answered)

    def _go_on(self, key: ShareKey) -> None:
        """What is to be read now, and the writes that are by the same epochs."""
        waiting = [each for each in self._waiting.pop(key) if not each.has_given_up]
        reads = list(takewhile(_is_read, waiting))
        writes = _of_same_epochs(waiting[len(reads) :])
        if writes:
            self._waiting[key] = waiting[len(reads) + len(writes) :]
        for each in reads:
            self._put(each)
        if writes:
            self._write(key, writes)

    # Several share partitions

    def initialise(
        self,
        starts: Mapping[ShareKey, int],
        state_epoch: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        """See `ShareCoordinator.initialise`."""
        asked = [InitialiseState(key, state_epoch, at) for key, at in starts.items()]
        return self._ask_all(asked, finish)

    def summarise(
        self, keys: Iterable[ShareKey], finish: Callable[[Summaries], T]
    ) -> T | Parked[T]:
        """See `ShareCoordinator.summarise`."""
        return self._ask_all([SummariseState(key) for key in keys], finish)

    def delete(
        self, keys: Iterable[ShareKey], finish: Callable[[Results], T]
    ) -> T | Parked[T]:
        """See `ShareCoordinator.delete`."""
        return self._ask_all([DeleteState(key) for key in keys], finish)

    def _ask_all(
        self, asked: Sequence[StateQuestion], finish: Callable[[Any], T]
    ) -> T | Parked[T]:
        def collect(found: list[Any]) -> T:
            keys = [each.key for each in asked]
            return finish(dict(zip(keys, found, strict=True)))

        waiting = [_Waiting(each, self._clock) for each in asked]
        for each in waiting:
            self._put(each)
        return gathered([each.wait() for each in waiting], collect)

    # Asking

    def _put(self, waiting: _Waiting) -> None:
        self._ask(waiting.question, waiting.deadline_ms).listen(waiting.take)

    def _ask(self, question: StateQuestion, deadline_ms: int) -> Parked[Any]:
        """The answer, which may come long after the time that is left for it."""
        if not self._here.has_topic and type(question) in WITHOUT_STATES:
            answer: Parked[Any] = Parked()
            answer.set_result(WITHOUT_STATES[type(question)])
            return answer
        asked = _Asked(self._ask_once, question, self._clock, deadline_ms)
        asked.go()
        return asked.answer

    def _ask_once(self, question: StateQuestion) -> Any:
        """The answer of who coordinates just now; an error, if nobody does."""
        try:
            place = self._here.partition_of(question.key)
        except KafkaError as error:
            if isinstance(question, InitialiseState):
                return question.ask(self._here)  # the topic is made for it
            return error.as_value()
        leader = self._others.leader_of(place)
        if leader is None:
            return CoordinatorNotAvailable()
        if leader == self._others.node_id:
            return question.ask(self._here)
        return self._others.ask_state(leader, question)


class _Asked:
    """One question, until it is answered."""

    def __init__(
        self,
        ask: Callable[[StateQuestion], Any],
        question: StateQuestion,
        clock: Clock,
        deadline_ms: int,
    ) -> None:
        self.answer: Parked[Any] = Parked()
        self._ask = ask
        self._question = question
        self._clock = clock
        self._deadline_ms = deadline_ms
        self._again_ms = _AGAIN_MS

    def go(self) -> None:
        """Ask, and take the answer when it is there."""
        found = self._ask(self._question)
        if isinstance(found, Parked):
            found.listen(self._note)
        else:
            self._take(found)

    def _note(self, answered: Parked[Any]) -> None:
        if answered.error is not None:
            self.answer.set_exception(answered.error)
        else:
            self._take(answered.response)

    def _take(self, found: Any) -> None:
        if not isinstance(found, KafkaError) or found.code not in _LATER:
            self.answer.set_result(found)
        elif self._clock.monotonic_ms() + self._again_ms < self._deadline_ms:
            self._clock.call_later(self._again_ms, self.go)
            self._again_ms = min(2 * self._again_ms, _AGAIN_MS_MAX)
        else:
            self.answer.set_result(CoordinatorNotAvailable())


def _is_read(waiting: _Waiting) -> bool:
    return isinstance(waiting.question, ReadState)


def _update_of(write: _Waiting) -> StateUpdate:
    assert isinstance(write.question, WriteState)
    return write.question.update


def _of_same_epochs(waiting: Sequence[_Waiting]) -> list[_Waiting]:
    """The writes before what is read, as far as they are by one leader."""
    if not waiting or _is_read(waiting[0]):
        return []
    epochs = _update_of(waiting[0]).epochs
    return list(
        takewhile(
            lambda each: not _is_read(each) and _update_of(each).epochs == epochs,
            waiting,
        )
    )


def _together(updates: Sequence[StateUpdate]) -> StateUpdate:
    """One that says what all of them say; they are of offsets of their own."""
    batches = sorted(batch for each in updates for batch in each.batches)
    return updates[-1]._replace(batches=tuple(batches))
