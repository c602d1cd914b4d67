"""R1 for transactions: a broker killed at any moment while producers commit and abort.

Producers of both versions of the protocol write into the same partitions, commit
offsets, abort, go silent and are succeeded. The oracle is this process: what it sent,
and how it was told that each transaction has ended.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from odradek.protocol.schema import Request
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.crash.test_kill import PARTITIONS, create_topic
from tests.crash.transaction_account import Account, Promised, Sent, check_outcomes
from tests.crash.transaction_producer import SOURCE
from tests.crash.transaction_reading import committed_offset, fetch, read_all
from tests.fakes.async_link import AsyncLink
from tests.fakes.transaction_errors import Abortable, Fatal
from tests.fakes.transactional_client import TransactionalClient
from tests.patience import PATIENCE_S

KILLS = 100 if os.environ.get("ODRADEK_LONG") else 3
TOPIC = "transactions"
PLACES = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]
PRODUCERS = 6
TIMEOUT_MS = 5_000
FETCH_SIZE = 1 << 20
OPTIONS = ("-o", "transaction.abort.timed.out.transaction.cleanup.interval.ms=100")


class Load:
    """Producers at work, and the account of all of them."""

    def __init__(self, address: str, chance: Random) -> None:
        self.address = address
        self.chance = chance
        self.promised = Promised(Path(), 0)
        self.numbers = count(1)
        self.told_count = 0
        self._is_over = False
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Load"]:
        self._tasks = [
            asyncio.create_task(self._produce(f"producer-{each}", 1 + each % 2))
            for each in range(PRODUCERS)
        ]
        try:
            yield self
            self._is_over = True
            await asyncio.gather(*self._tasks)
        finally:
            for each in self._tasks:
                each.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def progress(self, transactions: int) -> None:
        wanted = self.told_count + transactions
        async with asyncio.timeout(PATIENCE_S):
            while self.told_count < wanted:
                for each in self._tasks:
                    assert not each.done(), each.exception()
                await asyncio.sleep(0.001)

    async def _produce(self, transactional_id: str, protocol: int) -> None:
        """One producer after the other under one id, each as long as it may."""
        while not self._is_over:
            client = TransactionalClient(
                self.address,
                transactional_id,
                protocol=protocol,
                transaction_timeout_ms=TIMEOUT_MS,
            )
            try:
                await client.start()
                for _ in range(self.chance.randint(1, 20)):
                    if not self._is_over:
                        await self._transact(client)
                if self.chance.random() < 0.5:  # it goes silent in the middle
                    account = Account(next(self.numbers), transactional_id)
                    await self._write(client, account)
            except (Abortable, Fatal):
                pass  # fenced by a timeout: the next one takes over
            finally:
                await client.close()

    async def _transact(self, client: TransactionalClient) -> None:
        account = Account(next(self.numbers), client.transactional_id)
        is_commit = self.chance.random() < 0.7
        try:
            account = await self._write(client, account)
            account = self._note(account, asked=is_commit)
            await (client.commit() if is_commit else client.abort())
        except Abortable:
            # Nobody has said how it ended, if it was to be committed.
            await client.abort()
            if account.asked is None:
                self._note(account, asked=False)
            return
        self._note(account, told=is_commit)
        self.told_count += 1

    async def _write(self, client: TransactionalClient, account: Account) -> Account:
        for part in range(self.chance.randint(1, 3)):
            value = b"%d %d " % (account.number, part) + bytes(40)
            places = self.chance.sample(PLACES, self.chance.randint(1, PARTITIONS))
            sent = [Sent(each, value) for each in places]
            account = self._note(account, records=(*account.records, *sent))
            await client.send({each: [value] for each in places})
        if self.chance.random() < 0.5:
            account = self._note(account, has_offsets=True)
            group_id = f"group of {client.transactional_id}"
            await client.send_offsets(group_id, {SOURCE: account.number})
        return account

    def _note(self, account: Account, **changes: Any) -> Account:
        changed = replace(account, **changes)
        self.promised.accounts[account.number] = changed
        return changed


class Reader:
    """A connection for who only asks."""

    def __init__(self, link: AsyncLink) -> None:
        self._link = link

    async def ask(self, request: Request, version: int) -> Any:
        return await self._link.request(request, version)


@asynccontextmanager
async def reader(address: str) -> AsyncIterator[Reader]:
    link = await AsyncLink.open(address)
    try:
        yield Reader(link)
    finally:
        await link.close()


async def stable(asker: Reader) -> None:
    """Return when nothing is open any more, long before anybody loses patience."""
    for each in PLACES:
        async with asyncio.timeout(3 * TIMEOUT_MS / 1000):
            while True:
                found = await fetch(asker, each, 0, 1)
                if found.last_stable_offset == found.high_watermark:
                    break
                await asyncio.sleep(0.02)


async def check(load: Load) -> dict[int, bool | None]:
    """Every transaction is whole or not to be seen, and nothing hangs."""
    async with reader(load.address) as asker:
        await stable(asker)
        found = await read_all(asker, PLACES, FETCH_SIZE)
        ids = {each.transactional_id for each in load.promised.accounts.values()}
        offsets = {
            each: await committed_offset(asker, each, require_stable=True)
            for each in ids
        }
    return check_outcomes(load.promised, found, offsets)


async def torment(broker: BrokerProcess, load: Load) -> None:
    """Kill the broker again and again, in the middle of something."""
    async with load.running():
        for _ in range(KILLS):
            await load.progress(load.chance.randint(1, 40))
            await asyncio.sleep(load.chance.random() * 0.01)
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.start)
        await load.progress(10)


def test_kills_tear_no_transaction(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        create_topic(broker, TOPIC)
        create_topic(broker, SOURCE.topic)
        load = Load(broker.address, Random(KILLS))
        asyncio.run(torment(broker, load))
        outcomes = asyncio.run(check(load))
        committed_count = list(outcomes.values()).count(True)
        told = [each.told for each in load.promised.accounts.values()]
        print(  # shown by -s
            f"{len(told)} transactions, {committed_count} committed, "
            f"{told.count(None)} without an answer"
        )
        assert told.count(True) > KILLS
        assert told.count(False) > KILLS // 2
        assert "Traceback" not in broker.log()
