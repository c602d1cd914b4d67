"""A broker on what a crash has left: what it must find, end, and be able to do."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.protocol.schema import Request
from tests.crash.recording import Crash, Recording, RecordingFiles
from tests.crash.transaction_account import Account, Promised, check_outcomes
from tests.crash.transaction_broker import TransactionBroker, transaction_broker
from tests.crash.transaction_producer import TIMEOUT_MS, TRIES, Producer, Refused
from tests.crash.transaction_reading import (
    committed_offset,
    read_all,
    unstable_partitions,
    written_transactions,
)
from tests.crash.transaction_session import PARTITIONS, RecordedCatalog, Setting

IDS = ("one", "other", "rotating", "slow", "heir", "killed")
INIT_VERSION = 4
JOB_INTERVAL_MS = 10_000


class Survivor:
    """The broker after a crash, and what was promised before it.

    ``keeps_promises`` is False after a power cut with durability=none: then it is
    enough that nothing hangs. (Logs that have lost more than others are of different
    times: a marker may end the transaction before or behind its own.) ``recording`` is
    that of its own changes, if there is one.
    """

    keeps_promises = True

    def __init__(
        self,
        broker: TransactionBroker,
        promised: Promised,
        setting: Setting,
        recording: Recording[Promised] | None,
    ) -> None:
        self.broker = broker
        self.promised = promised
        self.setting = setting
        self.decided_count = 0
        self._recording = recording
        self._number = max(promised.accounts, default=0)
        self._promise()

    async def live(self) -> None:
        """Everything that must hold."""
        broker = self.broker
        await broker.open_logs()
        written = written_transactions(broker)
        await broker.load()
        assert unstable_partitions(broker) <= self._owned(), "orphans"
        await broker.time_out(TIMEOUT_MS + 1)
        await broker.time_out(JOB_INTERVAL_MS)  # what could not be done at once
        assert not unstable_partitions(broker), "it hangs"
        for each in self._ids():
            await committed_offset(broker, each, require_stable=True)
        outcomes = await self.outcomes()
        for transactional_id, transaction in written.items():
            if transaction.state.is_prepared:
                self._check_decided(
                    transactional_id, transaction.state.is_commit, outcomes
                )
        await self.go_on()
        assert not unstable_partitions(broker)
        again = await self.outcomes()
        for number, is_committed in outcomes.items():
            assert again[number] in (None, is_committed), number

    async def outcomes(self) -> dict[int, bool | None]:
        found = await read_all(self.broker, PARTITIONS)
        if not self.keeps_promises:
            return {}
        offsets = {
            each: await committed_offset(self.broker, each) for each in self._ids()
        }
        return check_outcomes(self.promised, found, offsets)

    def _ids(self) -> set[str]:
        accounts = self.promised.accounts.values()
        return {*IDS, *(each.transactional_id for each in accounts)}

    def _owned(self) -> set[Any]:
        """Where the coordinator knows of an open transaction."""
        shards = self.broker.services.transactions.runtime.shards()
        return {
            where
            for shard in shards
            for each in shard.state.transactions.values()
            for where in each.partitions
        }

    def _check_decided(
        self, transactional_id: str, is_commit: bool, outcomes: dict[int, bool | None]
    ) -> None:
        """What was durably decided ends so, whether or not anybody was told."""
        asked = [each for each in self.promised.of(transactional_id) if each.asked]
        if is_commit and self.keeps_promises:
            assert outcomes[asked[-1].number] is not False, asked[-1]
        self.decided_count += 1

    async def go_on(self) -> None:
        """Producers begin anew, with epochs that nobody had before."""
        given = dict(self.promised.epochs)
        new_id = f"new {self._number}"
        for transactional_id in (*self.broker.chance.sample(IDS, 3), new_id):
            producer = Producer(self, transactional_id, self.setting.protocol)
            await producer.init()
            if self.keeps_promises:
                assert producer.epoch > given.get(producer.producer_id, -1), given
            if transactional_id == new_id:
                assert producer.producer_id not in given, "an id is used again"
            await self._commit_something(producer)
        await self.broker.settle()
        request = InitProducerIdRequest(transactional_id=None)
        response = await self.ask(request, INIT_VERSION)
        assert response.producer_id not in self.promised.epochs

    async def _commit_something(self, producer: Producer) -> None:
        for _ in range(TRIES):
            try:
                await producer.produce(*PARTITIONS, count=1)
                await producer.commit_offsets()
                break
            except Refused:
                # The coordinator may have lost epochs of which the logs know: each
                # abort brings it nearer to them.
                assert not self.keeps_promises
                await producer.end(False)
                await producer.init()
        await producer.end(True)

    # What producers are given (`Desk`)

    async def ask(self, request: Request, version: int) -> Any:
        return await self.broker.ask(request, version)

    def send(self, request: Request, version: int) -> object:
        return self.broker.send(request, version)

    async def back_off(self) -> None:
        await self.broker.step()

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def note(self, account: Account) -> None:
        self._promise(accounts={**self.promised.accounts, account.number: account})

    def note_given(self, producer_id: int, epoch: int) -> None:
        highest = max(epoch, self.promised.epochs.get(producer_id, -1))
        self._promise(epochs={**self.promised.epochs, producer_id: highest})

    def note_catalog(self, copy: Path) -> None:
        self._promise(catalog=copy)

    def _promise(self, **changes: Any) -> None:
        now_ms = self.broker.clock.now_ms()
        self.promised = replace(self.promised, now_ms=now_ms, **changes)
        if self._recording is not None:
            self._recording.promise(self.promised)


class Crashes:
    """Crashes of one recorded session, each of which a broker must survive."""

    def __init__(
        self,
        recording: Recording[Promised],
        setting: Setting,
        scratch: Path,
        chance: Random,
    ) -> None:
        self.survived_count = 0
        self.decided_count = 0
        self._recording = recording
        self._setting = setting
        self._scratch = scratch
        self._chance = chance

    async def survive(self, crash: Crash, again: float = 0) -> None:
        """See what the next broker does; with chance ``again`` that crashes as well."""
        lost = set(self._recording.unsynced(crash.moment)) - crash.kept
        is_durable = self._setting.is_durable
        keeps_promises = is_durable or not lost
        seed = self._chance.random()
        what = f"after {crash.moment} changes, lost {sorted(lost)}, seed {seed}"
        with explained(what):
            recovery = await self._survive(
                self._recording.disk(crash),
                self._recording.promised(crash.moment),
                seed,
                keeps_promises=keeps_promises,
                is_recorded=self._chance.random() < again,
            )
        if recovery is None:
            self._clear()
            return
        moment = self._chance.randint(recovery.start, len(recovery.changes))
        *_, second = recovery.crashes(moment, 1, self._chance)
        with explained(f"{what}, and later {second}"):
            await self._survive(
                recovery.disk(second),
                recovery.promised(moment),
                seed,
                keeps_promises=is_durable,
            )
        self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self._scratch)
        self._scratch.mkdir()

    async def _survive(
        self,
        files: RecordingFiles,
        promised: Promised,
        seed: float,
        *,
        keeps_promises: bool,
        is_recorded: bool = False,
    ) -> Recording[Promised] | None:
        recording: Any = files.record() if is_recorded else None
        if recording is not None:
            recording.promise(promised)
        root = Path(tempfile.mkdtemp(dir=self._scratch))
        catalog = RecordedCatalog(root, recording, lambda _: None)
        shutil.copytree(promised.catalog, catalog.directory)
        async with AsyncExitStack() as stack:
            if is_recorded:
                stack.enter_context(catalog.watched())
            broker = await stack.enter_async_context(
                transaction_broker(
                    catalog.directory, files, Random(seed), **self._setting.options
                )
            )
            broker.clock.advance(promised.now_ms - broker.clock.now_ms())
            survivor = Survivor(broker, promised, self._setting, recording)
            survivor.keeps_promises = keeps_promises
            catalog.on_copy = survivor.note_catalog
            await survivor.live()
        self.survived_count += 1
        self.decided_count += survivor.decided_count
        return recording  # type: ignore[no-any-return]


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Say of every error what led to it."""
    try:
        yield
    except Exception as error:
        error.add_note(what)
        raise
