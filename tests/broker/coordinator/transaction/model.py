"""A world of producers, partitions and crashes around one shard of transactions.

What holds, whatever happens (`World`):
- A transaction is committed in every partition, or in none.
- Who was told that it is committed, or aborted, was told the truth.
- Nobody is given an epoch that somebody had before.
- In the end no transaction is open, neither in a log nor in the coordinator.
- A producer that does nothing wrong never hears INVALID_TXN_STATE.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from odradek.broker.coordinator.transaction.expiry import decide_expiry
from odradek.broker.coordinator.transaction.records import TransactionRecord
from odradek.broker.coordinator.transaction.shard import Markers
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.transaction.client import PARTITIONS, Client
from tests.broker.coordinator.transaction.partition_log import Identity, PartitionLog
from tests.broker.coordinator.transaction.rig import TIMEOUT_MS, Transactions

IDS = ("x", "y")
DAY_MS = 24 * 3600 * 1000


class MarkerTask:
    """The markers of one transaction on their way."""

    def __init__(self, markers: Markers, on_done: Callable[[], object]) -> None:
        self.markers = markers
        self.on_done = on_done
        self.unwritten = list(markers.partitions)
        self.undurable: dict[TopicPartition, int] = {}


class World:
    """Everything, and the steps that it can make."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rig = Transactions()
        self.rig.markers.write = self.write_markers  # type: ignore[method-assign]
        self.logs = {each: PartitionLog() for each in PARTITIONS}
        self.tasks: list[MarkerTask] = []
        self.late: list[Callable[[], Any]] = []
        self.told: dict[int, bool] = {}
        self.given: dict[int, int] = {}
        self.tokens = 0
        # Some begin where epochs end.
        old = Transaction(IDS[0], 7, 32_760, TIMEOUT_MS, self.rig.clock.now_ms())
        if seed % 2:
            self.rig.load([TransactionRecord.of(old).encode()])
        self.clients = [self.new_client(each) for each in IDS]
        self.clients += [self.new_client(each, is_asleep=True) for each in IDS]

    def new_client(self, transactional_id: str, *, is_asleep: bool = False) -> Client:
        client = Client(self, transactional_id, self.random.choice([1, 2]))
        client.is_asleep = is_asleep
        return client

    def replace(self, client: Client) -> None:
        """Another producer with the same transactional id, some time later."""
        index = self.clients.index(client)
        client.forget()
        self.clients[index] = self.new_client(client.transactional_id, is_asleep=True)

    def next_token(self) -> int:
        self.tokens += 1
        return self.tokens

    def note_given(self, identity: Identity) -> None:
        producer_id, epoch = identity
        assert epoch > self.given.get(producer_id, -1), (identity, self.given)
        assert epoch < 32_767
        self.given[producer_id] = epoch

    def on_answer(self, answer: Any, listener: Callable[[Any], None]) -> None:
        """Parked answers come in a later step, as over a connection."""
        if isinstance(answer, Parked):
            answer.listen(
                lambda parked: self.rig.fake.soon.append(
                    partial(listener, parked.result())
                )
            )
        else:
            listener(answer)

    # What a broker does with a batch

    def produce(
        self,
        transactional_id: str,
        version: int,
        identity: Identity,
        token: int,
        where: TopicPartition,
    ) -> Any:
        log = self.logs[where]
        # An open transaction of another epoch is one whose marker is on its way.
        if log.is_open_at(identity):
            return log.append_data(identity, token, None)
        guard = log.marker_count(identity[0])
        if version == 2:
            found = self.rig.add(
                identity, where, version=2, transactional_id=transactional_id
            )
        else:
            found = self.rig.verify(identity, where, transactional_id=transactional_id)
        answered = Parked()

        def verified(answer: Any) -> None:
            code = answer[where] if isinstance(answer, dict) else answer
            if code == ErrorCode.NONE:
                code = log.append_data(identity, token, guard)
            answered.set_result(code)

        if not isinstance(found, Parked):
            verified(found)
            return answered.result()
        found.listen(lambda parked: verified(parked.result()))
        return answered

    # What a marker writer does

    def write_markers(self, markers: Markers, on_done: Callable[[], object]) -> None:
        assert self.rig.fake.durable > 0
        self.tasks.append(MarkerTask(markers, on_done))

    def write_marker(self) -> None:
        if not self.tasks:
            return
        task = self.random.choice(self.tasks)
        markers = task.markers
        if task.unwritten:
            where = task.unwritten.pop(self.random.randrange(len(task.unwritten)))
            producer = markers.producer_id, markers.producer_epoch
            offset = self.logs[where].append_marker(producer, markers.is_commit)
            if offset is not None:
                task.undurable[where] = offset
        self.finish_markers()

    def flush_partition(self) -> None:
        log = self.logs[self.random.choice(PARTITIONS)]
        log.durable = len(log.entries)
        self.finish_markers()

    def finish_markers(self) -> None:
        for task in list(self.tasks):
            if not task.unwritten and all(
                offset < self.logs[where].durable
                for where, offset in task.undurable.items()
            ):
                self.tasks.remove(task)
                self.rig.fake.soon.append(task.on_done)

    # Steps

    def step(self) -> None:
        (step,) = self.random.choices(list(STEPS), list(STEPS.values()))
        step(self)

    def act(self) -> None:
        self.random.choice(self.clients).act()

    def flush(self) -> None:
        self.rig.fake.flush(self.random.randrange(1, 4))

    def turn(self) -> None:
        self.rig.fake.turn()

    def deliver_late(self) -> None:
        """A copy of something that was sent arrives; nobody hears the answer."""
        if self.late:
            self.random.choice(self.late[-20:])()

    def pass_time(self) -> None:
        self.rig.clock.advance(self.random.choice([100, TIMEOUT_MS // 3]))
        self.rig.time_out()

    def refuse(self) -> None:
        refused = self.random.random() < 0.2
        self.rig.fake.refusal = CoordinatorNotAvailable() if refused else None

    def take_producer_ids(self) -> None:
        self.rig.producer_ids.is_empty = self.random.random() < 0.3

    def stop_client(self) -> None:
        """It is not heard of any more; another one of its id comes at once."""
        client = self.random.choice(self.clients)
        self.replace(client)
        self.random.choice(self.clients).is_asleep = False

    def crash(self) -> None:
        """What was not durable is lost, log by log, from somewhere on."""
        for log in self.logs.values():
            keep = self.random.randint(log.durable, len(log.entries))
            del log.entries[keep:]
            log.durable = keep
        self.tasks.clear()
        fake = self.rig.fake
        fake.refusal = None
        self.rig.crash(self.random.randint(0, len(fake.log) - fake.durable))
        for client in self.clients:
            client.forget()
            # What was not acknowledged is sent again, or given up with the client.
            if not all(
                offset < self.logs[where].durable for where, offset in client.written
            ):
                self.replace(client)

    def finish(self) -> None:
        """Nobody writes any more: everything must come to its end."""
        self.rig.fake.refusal = None
        self.rig.producer_ids.is_empty = False
        self.clients.clear()
        for _ in range(3):
            self.rig.clock.advance(TIMEOUT_MS + 1)
            self.rig.time_out()
            self.settle()
        for transaction in self.rig.state.transactions.values():
            state = transaction.state
            assert state is TransactionState.EMPTY or state.is_complete, transaction
        for where, log in self.logs.items():
            assert not log.open_tokens(), (where, log.open_tokens())
        self.check_outcomes()
        self.rig.clock.advance(8 * DAY_MS)
        self.rig.decide(decide_expiry)
        assert not self.rig.state.transactions

    def settle(self) -> None:
        fake = self.rig.fake
        while fake.durable < len(fake.log) or fake.soon or self.tasks:
            fake.flush()
            fake.turn()
            for log in self.logs.values():
                log.durable = len(log.entries)
            self.write_marker()

    def check_outcomes(self) -> None:
        outcomes: dict[int, set[bool]] = {}
        for log in self.logs.values():
            for token, ends in log.outcomes(len(log.entries)).items():
                outcomes.setdefault(token, set()).update(ends)
        for token, ends in outcomes.items():
            assert len(ends) == 1, f"transaction {token} is torn"
        for token, is_commit in self.told.items():
            assert outcomes[token] == {is_commit}, f"{token}: a lie"


STEPS: dict[Callable[[World], None], int] = {
    World.act: 600,
    World.flush: 120,
    World.turn: 140,
    World.write_marker: 140,
    World.flush_partition: 160,
    World.deliver_late: 60,
    World.pass_time: 8,
    World.refuse: 4,
    World.take_producer_ids: 3,
    World.stop_client: 3,
    World.crash: 3,
}
