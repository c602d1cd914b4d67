"""Producers whose requests arrive late, twice and in another order; see the test.

What is held is delivered by events, not by time: after so many more requests or
answers of the same producer. So the copy of a request meets every state that its
producer can bring about: the answered retry, the ending transaction, the next one.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.transactions import EndTxnResponse
from odradek.protocol.topic_partition import TopicPartition
from tests.crash.transaction_audit import Written, audit
from tests.fakes.delaying_proxy import DelayingProxy, Fate, Held, Policy, Request
from tests.fakes.transaction_errors import Abortable, Fatal, GaveUp
from tests.fakes.transactional_asker import Hooks
from tests.fakes.transactional_client import TransactionalClient
from tests.patience import PATIENCE_S

OF_OFFSETS = (ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT)
DELAYED = (
    ApiKey.PRODUCE,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.END_TXN,
    *OF_OFFSETS,
)
# Only the first version has these.
BEGINNINGS = (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN)
END_THAT_BUMPS = 5  # the first version of EndTxn of which that is so
FATES = {Fate.PASS: 75, Fate.HOLD: 16, Fate.LOSE_ANSWER: 7, Fate.STALL: 2}
EVENTS_MAX = 24  # about three transactions; each request is two events
REQUEST_TIMEOUT_S = 0.3


@dataclass
class _Line:
    """What is held of one producer, and after how many events it is due."""

    events: int = 0
    held: list[tuple[int, Held]] = field(default_factory=list)
    ends: int = 0  # that have arrived and are neither held nor answered
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Disorder(Policy):
    """Holds requests by chance, and lets each go when it is due."""

    def __init__(self, chance: random.Random) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = chance
        self._lines: dict[str, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def decide(self, request: Request) -> Fate:
        if request.api_key not in DELAYED:
            return Fate.PASS
        line = self._line(request)
        line.ends += request.api_key == ApiKey.END_TXN
        # The first version has nothing by which a transaction could be told from the
        # next: a late end would be that of the one which is about to begin, and late
        # offsets would be committed with it.
        if request.api_key in BEGINNINGS:
            await self._deliver_ends(line)
        elif request.api_key == ApiKey.END_TXN and request.version < END_THAT_BUMPS:
            await self._deliver(line, OF_OFFSETS)
        await self._event(line)
        (fate,) = self._chance.choices(list(FATES), list(FATES.values()))
        self.counts[f"{ApiKey(request.api_key).name} {fate.name}"] += 1
        return fate

    async def hold(self, held: Held) -> None:
        line = self._line(held.request)
        due = line.events + self._chance.randint(1, EVENTS_MAX)
        line.held.append((due, held))
        self.over(held.request)

    async def answered(self, request: Request) -> None:
        if request.api_key in DELAYED:
            await self._event(self._line(request))

    def is_awaited(self, request: Request) -> bool:
        return request.api_key == ApiKey.END_TXN

    def over(self, request: Request) -> None:
        if request.api_key == ApiKey.END_TXN:
            line = self._line(request)
            line.ends -= 1
            line.ended.set()

    async def deliver_all(self) -> None:
        """Nothing is held any more, and everything is answered."""
        for line in self._lines.values():
            await self._deliver(line, DELAYED)

    def _line(self, request: Request) -> _Line:
        return self._lines.setdefault(request.client_id, _Line())

    async def _event(self, line: _Line) -> None:
        line.events += 1
        due = [each for each in line.held if each[0] <= line.events]
        line.held = [each for each in line.held if each not in due]
        for _, each in due:
            delivery = asyncio.create_task(self._deliver_one(each))
            self._tasks.add(delivery)
            delivery.add_done_callback(self._tasks.discard)
            if self._chance.random() < 0.5:
                await asyncio.wait([delivery])  # else it races with what comes next

    async def _deliver(self, line: _Line, api_keys: Sequence[int]) -> None:
        """Nothing of these APIs is held any more, nor on its way."""
        due = [each for each in line.held if each[1].request.api_key in api_keys]
        line.held = [each for each in line.held if each not in due]
        for _, each in due:
            await self._deliver_one(each)
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _deliver_ends(self, line: _Line) -> None:
        """The same, also of those that the client has lost its patience with."""
        await self._deliver(line, [ApiKey.END_TXN])
        while line.ends:
            line.ended.clear()
            await line.ended.wait()
            await self._deliver(line, [ApiKey.END_TXN])

    async def _deliver_one(self, held: Held) -> None:
        answer = await held.deliver()
        name = ApiKey(held.request.api_key).name
        outcome = "closed" if answer is None else _code(held.request, answer)
        self.counts[f"late {name}: {outcome}"] += 1


def _code(request: Request, answer: bytes) -> str:
    if request.api_key != ApiKey.END_TXN:
        return "answered"
    return str(decode_response(answer, EndTxnResponse, request.version)[1].error_code)


class Quickly(Hooks):
    """Asks again at once: what it waits for is of this machine."""

    async def back_off(self, attempt: int) -> None:
        await asyncio.sleep(min(0.001 * 2**attempt, 0.02))


class Producer:
    """Writes transactions, and keeps the account of them."""

    def __init__(
        self,
        address: str,
        name: str,
        protocols: Sequence[int],
        places: Sequence[TopicPartition],
        chance: random.Random,
    ) -> None:
        self.written: list[Written] = []
        self.refusals: Counter[str] = Counter()
        self.fences: Counter[str] = Counter()
        self._address, self._name, self._protocols = address, name, protocols
        self._places = places
        self._chance = chance
        self._client = self._new_client()

    def _new_client(self) -> TransactionalClient:
        return TransactionalClient(
            self._address,
            self._name,
            protocol=self._chance.choice(self._protocols),
            deadline_s=PATIENCE_S,
            hooks=Quickly(),
        )

    async def _start(self) -> None:
        # Not impatiently: a second InitProducerId would fence the first.
        await self._client.start()
        self._client.asker.request_timeout_s = REQUEST_TIMEOUT_S

    async def run(self, count: int) -> None:
        """So many transactions, one after another."""
        await self._start()
        try:
            for number in range(count):
                await self._transaction(number)
        finally:
            await self._client.close()

    async def _transaction(self, number: int) -> None:
        client, chance = self._client, self._chance
        own = Written(
            self._name, number, client.protocol, client.producer_id, client.epoch
        )
        self.written.append(own)
        # Some lose patience: what they sent may still come, after their abort.
        is_impatient = chance.random() < 0.15
        client.asker.deadline_s = 0 if is_impatient else PATIENCE_S
        try:
            await self._write(own)
        except (GaveUp, Abortable) as error:
            if isinstance(error, Abortable):
                self.refusals[f"{client.protocol}: {error}"] += 1
            client.asker.deadline_s = PATIENCE_S
            await client.abort()
            return
        client.asker.deadline_s = PATIENCE_S
        end = chance.random()
        if end < 0.1:
            await self._replace(own, is_race=end < 0.05)
        elif end < 0.3:
            await client.abort()
        else:
            await client.commit()
            own.is_committed = True

    async def _write(self, own: Written) -> None:
        chance = self._chance
        for _ in range(chance.randint(1, 3)):
            places = chance.sample(self._places, chance.randint(1, 3))
            await self._client.send(
                {
                    place: own.next_values(place, chance.randint(1, 3))
                    for place in places
                }
            )
        if chance.random() < 0.4:
            own.offset = own.number
            await self._client.send_offsets(own.group, {self._places[0]: own.number})

    async def _replace(self, own: Written, *, is_race: bool) -> None:
        """Another client takes over, before the commit or while it is under way."""
        old, self._client = self._client, self._new_client()
        try:
            if not is_race:
                await self._start()
                await self._commit_fenced(own, old)
                assert not own.is_committed, f"{own} is acknowledged after its fence"
                own.is_committed = False
            else:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._start())
                    tasks.create_task(self._commit_fenced(own, old))
        finally:
            await old.close()

    async def _commit_fenced(self, own: Written, client: TransactionalClient) -> None:
        try:
            await client.commit()
        except Fatal as error:
            self.fences[f"{client.protocol}: {error}"] += 1
            own.is_committed = None  # it may have been, before it was asked again
        else:
            own.is_committed = True


@dataclass
class Run:
    """So many transactions of several producers, through a proxy that disorders."""

    address: str
    places: Sequence[TopicPartition]
    protocols: Sequence[int]  # of which each client speaks one
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    fences: Counter[str] = field(default_factory=Counter)
    written: list[Written] = field(default_factory=list)

    @property
    def late_count(self) -> int:
        """How many requests came late."""
        return sum(n for name, n in self.counts.items() if name.startswith("late"))

    async def go(self, producers: int, transactions: int) -> list[str]:
        """Everything that went wrong."""
        chance = random.Random(self.seed)
        disorder = Disorder(random.Random(chance.random()))
        self.counts = disorder.counts
        async with DelayingProxy(self.address, disorder).running() as proxy:
            made = [
                Producer(
                    proxy.address,
                    f"producer-{number}",
                    self.protocols,
                    self.places,
                    random.Random(chance.random()),
                )
                for number in range(producers)
            ]
            async with asyncio.TaskGroup() as tasks:
                for each in made:
                    tasks.create_task(each.run(transactions // producers))
            await disorder.deliver_all()
        for each in made:
            self.refusals.update(each.refusals)
            self.fences.update(each.fences)
        self.written = [written for each in made for written in each.written]
        return await audit(self.address, self.places, self.written)
