"""What is asked about calls: T352."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.journal.requests import journal_requests
from odradek.broker.operate.admin_socket import AdminError
from tests.fakes.faulty import Faulty, faulty
from tests.fakes.network import settle
from tests.fakes.traced import fetch, produce


def asking(broker: Faulty, name: str, **request: Any) -> Any:
    services: Any = broker.broker.services
    requests = journal_requests(broker.journal, broker.dispatcher, services)
    return requests[name](request)


async def ask(broker: Faulty, name: str, **request: Any) -> list[Any]:
    return [item async for item in asking(broker, name, **request)]


async def test_calls_since_a_number(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        assert await ask(broker, "journal.begin") == [{"next": 0}]
        await broker.send(produce(0))
        await broker.send(produce(1) + fetch(0, 0))
        head, *calls = await ask(broker, "calls")
        assert head == {"lost": 0, "next": 3}
        assert [call["api"] for call in calls] == ["Produce", "Produce", "Fetch"]
        match = {"api": "Produce", "partition": 1}
        _, call = await ask(broker, "calls", since=1, match=match, error="none")
        assert call["number"] == 1
        assert await ask(broker, "journal.end") == [{"next": 3}]
        assert len(await ask(broker, "calls")) == 4  # they are still there


async def test_it_says_how_many_are_lost(tmp_path: Path) -> None:
    """T352: of those that were asked for."""
    async with faulty(tmp_path, calls_max=3) as broker:
        broker.journal.begin()
        await broker.send(produce(0) * 10)
        for since, lost, first in ((0, 7, 7), (5, 2, 7), (8, 0, 8)):
            head, *calls = await ask(broker, "calls", since=since)
            assert head == {"lost": lost, "next": 10}
            assert calls[0]["number"] == first


async def test_it_waits_for_so_many(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        match = {"api": "Produce"}
        waiting = asyncio.ensure_future(ask(broker, "calls", match=match, count=2))
        await broker.send(fetch(0, 0))
        await broker.send(produce(0))
        assert not waiting.done()
        await broker.send(produce(0))
        assert len(await waiting) == 3
        late = await ask(broker, "calls", match=match, count=3, timeout_ms=0)
        assert len(late) == 3  # what there is
        assert not broker.journal._listeners


async def test_it_follows_until_nobody_asks_any_more(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        await broker.send(produce(0))
        async with aclosing(asking(broker, "calls", follow=True)) as items:
            assert (await anext(items))["next"] == 1
            assert (await anext(items))["number"] == 0
            following = asyncio.ensure_future(anext(items))
            await settle()
            await broker.send(produce(0))
            assert (await following)["number"] == 1
        assert not broker.journal._listeners


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"error": "NOEN"}, "did you mean NONE"),
        ({"match": {"api": "Prodce"}}, "did you mean Produce"),
        ({"count": 0}, "at least 1"),
        ({"sinse": 0}, "did you mean since"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    tmp_path: Path, request_: dict[str, Any], said: str
) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        with pytest.raises(AdminError, match=said):
            await ask(broker, "calls", **request_)


async def test_nobody_is_told_that_nothing_came_when_nobody_looked(
    tmp_path: Path,
) -> None:
    async with faulty(tmp_path) as broker:
        await broker.send(produce(0))
        with pytest.raises(AdminError, match=r"journal\.begin") as refused:
            await ask(broker, "calls")
        assert refused.value.word == "journal-off"
