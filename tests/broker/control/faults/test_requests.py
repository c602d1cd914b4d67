"""What is asked about rules."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.faults.requests import fault_requests
from odradek.broker.operate.admin_socket import AdminError
from tests.fakes.faulty import Faulty, faulty
from tests.fakes.network import settle
from tests.fakes.traced import produce


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Faulty]:
    async with faulty(tmp_path) as broker:
        yield broker


async def ask(broker: Faulty, name: str, **request: Any) -> list[Any]:
    requests = fault_requests(broker.rules, broker.metadata)
    return [item async for item in requests[name](request)]


async def test_a_rule_is_armed_listed_and_cleared(broker: Faulty) -> None:
    rule = {"match": {"api": "Produce"}, "when": {"times": 2, "seed": 5}}
    [armed] = await ask(broker, "faults.arm", **rule, drop={"at": "after"})
    assert armed == {
        "id": 1,
        "match": {"api": "Produce"},
        "drop": {"at": "after"},
        "seed": 5,
        "count": 0,
        "left": 2,
        "held": 0,
    }
    await broker.send(produce(0))
    [listed] = await ask(broker, "faults.list")
    assert (listed["count"], listed["left"]) == (1, 1)
    await ask(broker, "faults.arm", hold={})
    assert [each["id"] for each in await ask(broker, "faults.clear", id=1)] == [1]
    assert [each["id"] for each in await ask(broker, "faults.clear")] == [2]
    assert await ask(broker, "faults.list") == []
    assert broker.is_untouched


async def test_who_waits_for_a_rule_is_told_or_its_time_is_over(
    broker: Faulty,
) -> None:
    [armed] = await ask(broker, "faults.arm", match={"api": "Produce"}, hold={})
    waiting = asyncio.ensure_future(ask(broker, "faults.fired", id=armed["id"]))
    await settle()
    assert not waiting.done()
    await broker.send(produce(0))
    [fired] = await waiting
    assert (fired["count"], fired["held"]) == (1, 1)
    with pytest.raises(AdminError, match="was at work 1 times, not 2") as refused:
        await ask(broker, "faults.fired", id=armed["id"], count=2, timeout_ms=0)
    assert refused.value.word == "timeout"
    [released] = await ask(broker, "faults.release", id=armed["id"])
    assert released == {"released": 1}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({}, "one action"),
        ({"drop": {}, "hold": {}}, "one action"),
        ({"drp": {}}, "did you mean drop"),
        ({"matsch": {}, "drop": {}}, "did you mean match"),
        ({"drop": 5}, "an object"),
        ({"drop": {"at": "befor"}}, "did you mean before"),
        ({"drop": {}, "when": {"probability": 2}}, "from 0 to 1"),
        ({"drop": {}, "scope": "a-"}, "a client_id"),
        ({"drop": {}, "match": {"time": 1}}, "'time' is not .*; did you mean times"),
        ({"drop": {}, "match": {"foo": 1}}, "fields: api, .*, times, every, .*, seed"),
        ({"disk": {"kind": "full"}, "match": {"api": "Fetch"}}, "a file has no api"),
    ],
)
async def test_a_bad_rule_is_refused_and_nothing_is_armed(
    broker: Faulty, request_: dict[str, Any], said: str
) -> None:
    with pytest.raises(AdminError, match=said):
        await ask(broker, "faults.arm", **request_)
    assert not list(broker.rules)
    assert broker.is_untouched
