"""A shard of transactions without a broker.

What it writes is durable when the test says, and so are the markers.
"""

from collections.abc import Callable
from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.coordinator.decision import Decision, Place, ProducerIdentity
from odradek.broker.coordinator.timers import Timers
from odradek.broker.coordinator.transaction import end
from odradek.broker.coordinator.transaction.add_partitions import (
    Addition,
    decide_add_partitions,
    decide_verify,
)
from odradek.broker.coordinator.transaction.end import Ending, decide_end
from odradek.broker.coordinator.transaction.expiry import decide_timeouts
from odradek.broker.coordinator.transaction.init_producer import (
    Initialisation,
    decide_init_producer,
)
from odradek.broker.coordinator.transaction.shard import Markers, TransactionShard
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

ID = "t"
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TIMEOUT_MS = 60_000
FIRST_PRODUCER_ID = 1000


class FakeShard:
    """Where decisions end up: the log, in order, of which ``durable`` are on disk."""

    def __init__(self, clock: FakeClock) -> None:
        self.topic_partition = TopicPartition("__transaction_state", 7)
        self.timers = Timers(clock, self._on_time)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.durable = 0
        self.soon: list[Callable[[], object]] = []
        self.refusal: KafkaError | None = None
        self.state: Any = None
        self._clock = clock
        self._behind: list[tuple[int, Callable[[], None]]] = []

    def act(self, decide: Any, refuse: Callable[[KafkaError], Any]) -> Any:
        try:
            return self.apply(decide(self.state))
        except KafkaError as error:
            return refuse(error)

    def apply(self, decision: Decision) -> Any:
        if decision.records and self.refusal is not None:
            raise self.refusal
        for record in decision.records:
            self.state.replay(record, Place(len(self.log), self._clock.now_ms()))
            self.log.append(record.encode())
        waits = decision.records or (decision.reads_state and self._behind)
        if not waits:
            if decision.then is not None:
                self.soon.append(decision.then)
            return decision.response
        parked = Parked()

        def release() -> None:
            if decision.then is not None:
                self.soon.append(decision.then)
            parked.set_result(decision.response)

        self._behind.append((len(self.log), release))
        return parked

    def flush(self, count: int | None = None) -> None:
        """Make the log durable, up to ``count`` records more, and answer."""
        left = len(self.log) - self.durable
        self.durable += left if count is None else min(left, count)
        while self._behind and self._behind[0][0] <= self.durable:
            self._behind.pop(0)[1]()

    def turn(self) -> None:
        """The next turn of the loop."""
        soon, self.soon = self.soon, []
        for action in soon:
            action()

    def crash(self, survivors: int = 0) -> None:
        """Lose what was not durable but for some records; nobody is answered."""
        del self.log[self.durable + survivors :]
        self.durable = len(self.log)
        self.timers.close()
        self.timers = Timers(self._clock, self._on_time)
        self.soon.clear()
        self._behind.clear()

    def _on_time(self, action: Callable[[], object]) -> None:
        action()


class FakeMarkerWriter:
    """Remembers what it is to write; the test says when it is durable."""

    def __init__(self) -> None:
        self.pending: list[tuple[Markers, Callable[[], object]]] = []

    def write(self, markers: Markers, on_done: Callable[[], object]) -> None:
        self.pending.append((markers, on_done))

    def finish(self) -> list[Markers]:
        """All markers are durable; they are returned."""
        pending, self.pending = self.pending, []
        for _, on_done in pending:
            on_done()
        return [markers for markers, _ in pending]


class FakeProducerIds:
    """Ids from 1000 on, unless there are none."""

    def __init__(self) -> None:
        self.next = FIRST_PRODUCER_ID
        self.is_empty = False

    def take(self) -> int:
        if self.is_empty:
            raise CoordinatorLoadInProgress
        self.next += 1
        return self.next - 1


class Transactions:
    """A shard with a clock, and requests in few words."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.config = BrokerConfig(**options)
        self.fake = FakeShard(self.clock)
        self.markers = FakeMarkerWriter()
        self.producer_ids = FakeProducerIds()
        self.state = self._new_state()

    def _new_state(self) -> TransactionShard:
        state = TransactionShard(
            cast("Any", self.fake),
            self.config,
            self.clock,
            self.producer_ids,
            self.markers,
        )
        state.when_loaded.append(end.resume)
        self.fake.state = state
        return state

    def crash(self, survivors: int = 0) -> None:
        """The process ends; the next one loads what was durable."""
        self.state.on_unloaded(CoordinatorNotAvailable())
        self.fake.crash(survivors)
        self.markers.pending.clear()
        self.load(self.fake.log)

    def load(self, log: list[tuple[bytes, bytes | None]]) -> None:
        self.fake.log, self.fake.durable = log, len(log)
        self.state = self._new_state()
        for offset, (key, value) in enumerate(log):
            record = self.state.decode(key, value)
            if record is not None:
                self.state.replay(record, Place(offset, self.clock.now_ms()))
        self.state.on_loaded()

    def get(self, transactional_id: str = ID) -> Transaction:
        found = self.state.get(transactional_id)
        assert found is not None
        return found

    def current(self) -> TransactionState:
        return self.get().state

    def flush(self) -> None:
        """Everything appended is durable, and what follows it has begun."""
        self.fake.flush()
        self.fake.turn()

    def settle(self) -> list[Markers]:
        """Everything appended is durable, so are all markers, and what is behind."""
        written = []
        fake, markers = self.fake, self.markers
        while fake.durable < len(fake.log) or fake.soon or markers.pending:
            self.flush()
            written += markers.finish()
        return written

    # Requests: the answer, parked if it waits; or the code of the error

    def init(
        self,
        expected: tuple[int, int] | None = None,
        transactional_id: str = ID,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Any:
        who = None if expected is None else ProducerIdentity(*expected)
        wanted = Initialisation(transactional_id, timeout_ms, who)
        return self.decide(
            lambda state: decide_init_producer(state, wanted, tuple, _code)
        )

    def add(
        self,
        producer: tuple[int, int],
        *partitions: TopicPartition,
        version: int = 0,
        transactional_id: str = ID,
    ) -> Any:
        who = ProducerIdentity(*producer)
        addition = Addition(transactional_id, who, partitions, version)
        return self.decide(
            lambda state: decide_add_partitions(state, addition, ErrorCode.NONE)
        )

    def verify(
        self,
        producer: tuple[int, int],
        *partitions: TopicPartition,
        transactional_id: str = ID,
    ) -> Any:
        who = ProducerIdentity(*producer)
        addition = Addition(transactional_id, who, partitions)
        return self.decide(lambda state: decide_verify(state, addition, dict))

    def end(
        self,
        producer: tuple[int, int],
        *,
        commit: bool = True,
        version: int = 1,
        transactional_id: str = ID,
    ) -> Any:
        who = ProducerIdentity(*producer)
        ending = Ending(transactional_id, who, commit, version == 2)
        return self.decide(lambda state: decide_end(state, ending, tuple))

    def time_out(self) -> None:
        """The periodic look for transactions that take too long."""
        self.decide(decide_timeouts)
        self.fake.turn()

    def decide(self, decide: Callable[[TransactionShard], Decision]) -> Any:
        return self.fake.act(decide, _code)

    # Whole scenes

    def done(self, answer: Any) -> Any:
        """What is answered when everything is durable."""
        self.settle()
        return answer.result() if isinstance(answer, Parked) else answer

    def producer(self, epoch: int = 0) -> tuple[int, int]:
        """A producer that has just begun, with this epoch."""
        given = self.done(self.init())
        assert isinstance(given, tuple), given
        if epoch:
            self._jump_to(epoch)
        return given[0], epoch

    def ongoing(self, epoch: int = 0, version: int = 1) -> tuple[int, int]:
        """A producer whose transaction has two partitions."""
        producer = self.producer(epoch)
        assert self.done(self.add(producer, A0, B0, version=_client(version))) == 0
        return producer

    def prepared(self, *, commit: bool = True, version: int = 1) -> tuple[int, int]:
        """A producer whose transaction has ended; the markers are not written."""
        producer = self.ongoing(version=version)
        answer = self.end(producer, commit=commit, version=version)
        self.flush()
        given: tuple[int, int] = answer.result()
        return given

    def _jump_to(self, epoch: int) -> None:
        transaction = self.get()
        jumped = transaction.given_to(
            ProducerIdentity(transaction.producer_id, epoch), -1, TIMEOUT_MS, 0
        )
        self.state.transactions[ID] = jumped


def _client(version: int) -> int:
    """What old clients are written down as is 0."""
    return 2 if version == 2 else 0


def _code(error: KafkaError) -> int:
    return error.code
