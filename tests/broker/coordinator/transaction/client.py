"""A transactional producer, of either protocol, in a world of its own."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Protocol

from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.transaction.partition_log import Identity, PartitionLog
from tests.broker.coordinator.transaction.rig import A0, A1, B0, Transactions

PARTITIONS = [A0, A1, B0]
RETRIABLE = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
FATAL = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,  # of a log, which has ended the transaction
    ErrorCode.TRANSACTION_ABORTABLE,
)


class Surroundings(Protocol):
    """What a client knows of its world."""

    random: Random
    rig: Transactions
    logs: dict[TopicPartition, PartitionLog]
    late: list[Callable[[], Any]]
    told: dict[int, bool]

    def next_token(self) -> int: ...

    def note_given(self, identity: Identity) -> None: ...

    def replace(self, client: "Client") -> None: ...

    def on_answer(self, answer: Any, listener: Callable[[Any], None]) -> None: ...

    def produce(
        self,
        transactional_id: str,
        version: int,
        identity: Identity,
        token: int,
        where: TopicPartition,
    ) -> Any: ...


class Client:
    """A producer that does everything right, and asks again when unanswered."""

    def __init__(
        self, world: Surroundings, transactional_id: str, version: int
    ) -> None:
        self.world = world
        self.transactional_id = transactional_id
        self.version = version
        self.identity: Identity | None = None
        self.token: int | None = None
        self.is_commit: bool | None = None
        self.added: set[TopicPartition] = set()
        self.written: list[tuple[TopicPartition, int]] = []
        self.producing: TopicPartition | None = None
        self.question = 0
        self.is_waiting = False
        self.is_asleep = False

    def act(self) -> None:
        random = self.world.random
        if self.is_asleep:
            self.is_asleep = random.random() > 0.02
            return
        if self.is_waiting:
            if random.random() < 0.05:
                self.forget()
            return
        if self.identity is None:
            self.ask(self.init, self.on_init)
        elif self.token is None:
            self.token = self.world.next_token()
        elif self.is_commit is not None:
            self.ask(self.end, self.on_end)
        elif self.producing is not None:
            self.produce()
        elif random.random() < 0.5:
            self.producing = random.choice(PARTITIONS)
        elif self.written and self.has_acknowledgements():
            self.is_commit = random.random() < 0.6

    def forget(self) -> None:
        """Wait for the answer no more; perhaps it was never sent."""
        self.is_waiting = False
        self.question += 1

    def has_acknowledgements(self) -> bool:
        logs = self.world.logs
        return all(offset < logs[where].durable for where, offset in self.written)

    def ask(self, ask: Callable[[], Any], on_answer: Callable[[Any], None]) -> None:
        self.is_waiting = True
        question = self.question = self.question + 1

        def listener(answer: Any) -> None:
            if self.question == question:
                self.is_waiting = False
                on_answer(answer)

        self.world.on_answer(ask(), listener)

    # Who am I

    def init(self) -> Any:
        return self.world.rig.init(transactional_id=self.transactional_id)

    def on_init(self, answer: Any) -> None:
        if isinstance(answer, int):
            assert answer in RETRIABLE, answer
            return
        self.world.note_given(answer)
        self.identity = answer

    # Write

    def produce(self) -> None:
        assert self.identity is not None
        assert self.producing is not None
        assert self.token is not None
        if self.version == 1 and self.producing not in self.added:
            add = partial(
                self.world.rig.add,
                self.identity,
                self.producing,
                transactional_id=self.transactional_id,
            )
            self.ask(add, partial(self.on_added, self.producing))
            return
        send = partial(
            self.world.produce,
            self.transactional_id,
            self.version,
            self.identity,
            self.token,
            self.producing,
        )
        if self.version == 2:
            self.world.late.append(send)
        self.ask(send, partial(self.on_produced, self.producing))

    def on_added(self, where: TopicPartition, code: int) -> None:
        if code == ErrorCode.NONE:
            self.added.add(where)
        elif code not in RETRIABLE:
            self.end_of(code)

    def on_produced(self, where: TopicPartition, code: int) -> None:
        if code == ErrorCode.NONE:
            self.written.append((where, len(self.world.logs[where].entries) - 1))
            self.producing = None
        elif code not in RETRIABLE:
            self.end_of(code)

    # End

    def end(self) -> Any:
        send = partial(
            self.world.rig.end,
            self.identity or (-1, -1),
            commit=bool(self.is_commit),
            version=self.version,
            transactional_id=self.transactional_id,
        )
        if self.version == 2:
            self.world.late.append(send)
        return send()

    def on_end(self, answer: Any) -> None:
        if isinstance(answer, int):
            # A timeout that was faster, or a newer producer; never a wrong state.
            assert answer != ErrorCode.INVALID_TXN_STATE
            if answer not in RETRIABLE:
                self.end_of(answer)
            return
        assert self.token is not None
        assert self.is_commit is not None
        self.world.told[self.token] = self.is_commit
        self.identity = answer
        self.token = self.is_commit = None
        self.added.clear()
        self.written.clear()

    def end_of(self, code: int) -> None:
        """This producer is shut out; another one begins in its place."""
        assert code in FATAL, code
        self.world.replace(self)
