"""The request of the admin socket, asked without it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.tracing.asked import parsed, traced
from odradek.broker.operate.tracing.watch import NoWatch
from tests.fakes import traced as fakes
from tests.fakes.network import settle
from tests.fakes.traced import Traced, produce


def asking(broker: Traced, **request: Any) -> asyncio.Task[list[Any]]:
    async def all_of_it() -> list[Any]:
        answer = traced(request, broker.tracer, broker.broker.services)
        return [item async for item in answer]

    return asyncio.create_task(all_of_it())


async def test_as_many_as_were_wanted(tmp_path: Path) -> None:
    async with fakes.traced(tmp_path, durability="none") as broker:
        asked = asking(broker, what="produce", count=2)
        await settle()
        for _ in range(3):
            assert not asked.done()
            await broker.send(produce())
            if broker.answer_count == 2:
                break
        items = await asked
        assert [item["outcome"] for item in items] == ["answered", "answered"]
        assert broker.tracer.is_idle


async def test_when_the_time_is_over_there_is_what_there_is(tmp_path: Path) -> None:
    async with fakes.traced(tmp_path) as broker:
        asked = asking(broker, what="produce", count=2, timeoutMs=5000)
        await settle()
        await broker.send(produce())  # no sync: it is on its way
        broker.broker.clock.advance(4999)
        await settle()
        assert not asked.done()
        broker.broker.clock.advance(1)
        (item,) = await asked
        assert item["outcome"] == "unfinished"
        assert item["steps"][-1]["function"] == "ResponseQueue.park"
        assert broker.tracer.is_idle


async def test_who_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async with fakes.traced(tmp_path) as broker:
        asked = asking(broker, what="produce")
        await settle()
        assert not broker.tracer.is_idle
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await settle()
        assert broker.tracer.is_idle


async def test_when_others_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fakes.traced(tmp_path) as broker:

        def refuse() -> None:
            raise NoWatch("others watch")

        monkeypatch.setattr(broker.tracer._watch, "start", refuse)
        with pytest.raises(AdminError, match="others watch") as refused:
            await asking(broker, what="produce")
        assert refused.value.word == "busy"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "what must be one of produce, fetch, commit"),
        ({"what": "join"}, "what must be one of"),
        ({"what": ["produce"]}, "what must be one of"),
        ({"what": "produce", "x": 1}, "unknown: x"),
        ({"what": "produce", "topic": 7}, "topic must be text"),
        ({"what": "produce", "clientId": []}, "clientId must be text"),
        ({"what": "produce", "count": 0}, "count must be a number from 1 to 1000"),
        ({"what": "produce", "count": True}, "count must be a number"),
        ({"what": "produce", "timeoutMs": 1e3}, "timeoutMs must be a number"),
        ({"what": "produce", "timeoutMs": 3_600_001}, "from 1 to 3600000"),
    ],
)
def test_what_cannot_be_meant(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(AdminError, match=message) as refused:
        parsed(request_)
    assert refused.value.word == "malformed"


def test_what_is_not_said() -> None:
    wanted, count, timeout_ms = parsed({"what": "commit", "group": "g"})
    assert (wanted.topic, wanted.group, wanted.client_id) == (None, "g", None)
    assert (count, timeout_ms) == (1, 30_000)
