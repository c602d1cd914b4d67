"""Produce with acks=all of a client that gives other brokers no time."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.replica.waiting.patience import DISK_TIMEOUT_MS
from odradek.protocol.errors import ErrorCode
from tests.broker.handlers.verification_rig import T0, codes_of, data, produce, rig


@pytest.mark.parametrize("timeout_ms", [-1, 0, 1])
async def test_the_coordinator_and_the_disk_are_ours_and_waited_for(
    tmp_path: Path, timeout_ms: int
) -> None:
    async with rig(tmp_path) as it:
        asked = produce((T0, data()), acks=-1)
        asked.timeout_ms = timeout_ms
        task = await it.begin(asked)
        it.broker.clock.advance(DISK_TIMEOUT_MS - 1)
        it.coordinator.answer()
        await asyncio.sleep(0)
        await it.broker.commit()
        assert codes_of(await it.told(task)) == {0: ErrorCode.NONE}
