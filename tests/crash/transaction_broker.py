"""A broker with transactions on a disk in memory, which does one thing at a time.

Nothing happens but in a step: some turns of the loop, or the sync of one log or of all
of them. A generator of random numbers chooses; there are no threads. So the order of
everything that reaches the disk is one of many, and the same for the same seed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from odradek.broker import handlers
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.requests.dispatch import Dispatcher, Exchange, Route
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.disk_threads import DiskThreads, OnDone
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.schema import Request
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas

TURNS_MAX = 8
IDLE_STEPS = 5
# A timer that somebody waits for is at most this far away.
PATIENCE_MS = 60_000
LENGTH_SIZE = 4


class NoThreads(DiskThreads):
    """Does every job at once."""

    def submit(self, job: Callable[[], object], on_done: OnDone) -> None:
        self._unfinished += 1
        result, error = None, None
        try:
            result = job()
        except Exception as raised:
            error = raised
        loop = asyncio.get_running_loop()
        loop.call_soon(partial(self._finish, on_done, result, error))


class Question:
    """A request that was sent, and is answered in some later turn of the loop."""

    def __init__(
        self, dispatcher: Dispatcher, route: Route, exchange: Exchange | bytes
    ) -> None:
        self._dispatcher = dispatcher
        self._route = route
        self._exchange = exchange
        answer = exchange if isinstance(exchange, bytes) else exchange.answer
        self._response = asyncio.ensure_future(_awaited(answer))

    @property
    def is_answered(self) -> bool:
        return self._response.done()

    def answer(self) -> Any:
        """The response, as it was on the wire."""
        route, exchange = self._route, self._exchange
        buffers: list[Any] = []
        if isinstance(exchange, bytes):
            buffers.append(exchange)  # all of it
        else:
            try:
                response = self._response.result()
            except Exception as error:
                response = self._dispatcher.failure(route, exchange.request, error)
            is_framed = getattr(exchange.answer, "is_framed", False)
            if isinstance(response, bytes) and is_framed:
                buffers.append(response)
            else:
                route.write(0, response, buffers)
        frame = memoryview(b"".join(map(bytes, buffers)))[LENGTH_SIZE:]
        return decode_response(frame, route.response_class, route.api_version)[1]


async def _awaited(answer: Any) -> Any:
    """What a handler's answer comes to: a coroutine may park it."""
    while hasattr(answer, "__await__"):
        answer = await answer
    return answer


class TransactionBroker(Replicas):
    """A broker as far as transactions need it.

    ``syncs`` is False where the disk is left alone: with durability=none.
    """

    def __init__(
        self,
        catalog: Catalog,
        files: FakeFiles,
        chance: Random,
        *,
        syncs: bool = True,
        **options: Any,
    ) -> None:
        options.setdefault("offsets_topic_num_partitions", 2)
        options.setdefault("transaction_state_log_num_partitions", 2)
        super().__init__(catalog, files, NoThreads(), **options)
        self.chance = chance
        self.syncs = syncs
        self._dispatcher = Dispatcher(self.services, registered_handlers())

    async def open_logs(self) -> None:
        """Do what a broker does at its start."""
        if not self.logs.was_clean:
            await self.topics.bump_leader_epochs()
        await self.manager.open_all()

    async def load(self) -> None:
        """Do what it does after that, until there is nothing left of it."""
        services = self.services
        services.groups.load_all()
        services.transactions.load_all()
        await services.groups.runtime.loaded()
        await services.transactions.runtime.loaded()
        services.transactions.orphans.end_all()
        await self.settle()

    # Requests

    def send(self, request: Request, version: int) -> Question:
        frame = encode_request(request, version)[LENGTH_SIZE:]
        exchange = self._dispatcher.dispatch(self.connection, memoryview(frame))
        route = self._dispatcher.routes[request.api_key, version]
        return Question(self._dispatcher, route, exchange)

    async def ask(self, request: Request, version: int) -> Any:
        question = self.send(request, version)
        await asyncio.sleep(0)
        await self.until(lambda: question.is_answered)
        return question.answer()

    # Steps

    async def step(self) -> bool:
        """Let something happen. Returns whether there is, or was, anything to do."""
        if self._dirty() and self.chance.random() < 0.4:
            self._sync_something()
            return True
        for _ in range(self.chance.randint(1, TURNS_MAX)):
            await asyncio.sleep(0)
        return bool(self._dirty())

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once ``condition()`` holds; timers run when nothing else does."""
        waited_ms = idle = 0
        while not condition():
            idle = 0 if await self.step() else idle + 1
            if idle > IDLE_STEPS:
                assert waited_ms < PATIENCE_MS, "nothing happens any more"
                self.clock.advance(10)
                waited_ms += 10

    async def settle(self) -> None:
        """Return when nothing happens any more but what waits for a timer."""
        idle = 0
        while idle < IDLE_STEPS:
            idle = 0 if await self.step() else idle + 1

    def _dirty(self) -> list[tuple[Any, Any]]:
        if not self.syncs:
            return []
        directories = self.committer.directories.values()
        return [(each, log) for each in directories for log in each.dirty]

    def _sync_something(self) -> None:
        if self.chance.random() < 0.3:
            self.sync()
            return
        directory, log = self.chance.choice(self._dirty())
        others = {each: None for each in directory.dirty if each is not log}
        directory.dirty = {log: None}
        directory.sync()
        directory.dirty = {**others, **directory.dirty}

    async def time_out(self, elapsed_ms: int) -> None:
        """So much time passes, and the periodic jobs of transactions run."""
        self.clock.advance(elapsed_ms)
        self.services.transactions.abort_timed_out()
        await self.settle()

    # The end

    async def close(self) -> None:
        """The process is killed; what it would still write does not count."""
        await self.services.transactions.close()
        await self.services.groups.close()
        await super().close()


@contextlib.asynccontextmanager
async def transaction_broker(
    directory: Path, files: FakeFiles, chance: Random, **options: Any
) -> AsyncIterator[TransactionBroker]:
    """A broker whose catalogue is in ``directory``; in the end it is killed."""
    handlers.load()
    catalog = Catalog.open(directory)
    catalog._threads.close()
    catalog._threads = NoThreads()
    broker = TransactionBroker(catalog, files, chance, **options)
    try:
        yield broker
        assert not broker.bugs, broker.bugs
    finally:
        await broker.close()
        await catalog.close()
