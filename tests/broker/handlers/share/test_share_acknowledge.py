from pathlib import Path

import pytest

from odradek.protocol.errors import (
    ErrorCode,
    InvalidShareSessionEpoch,
    ShareSessionNotFound,
)
from tests.broker.share.rig import settle, share_rig

from .rig import acknowledge, acquired, begin, fetch, say

ACCEPT, RELEASE = [1], [2]


async def test_each_partition_has_its_own_answer(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig, partitions=2)
        await fetch(rig, 0, {0: [], 1: []})
        said = {0: [(0, 3, ACCEPT), (4, 6, [1, 2, 3])], 1: [(5, 10, ACCEPT)]}
        first, second = await acknowledge(rig, 1, said)
        assert (first.partition_index, first.error_code) == (0, 0)
        assert (second.partition_index, second.error_code) == (
            1,
            ErrorCode.INVALID_REQUEST,
        )
        state = rig.states.states[rig.key()]
        assert (state.start, [each[:3] for each in state.batches]) == (
            5,
            [(5, 5, 0), (6, 6, 4)],
        )


async def test_epochs(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        with pytest.raises(ShareSessionNotFound):
            await acknowledge(rig, 1, {0: [(0, 0, ACCEPT)]})
        await fetch(rig, 0, {0: []})
        for epoch in (0, 2):
            with pytest.raises(InvalidShareSessionEpoch):
                await acknowledge(rig, epoch, {0: [(0, 0, ACCEPT)]})
        await acknowledge(rig, 1, {0: [(0, 0, ACCEPT)]})
        await acknowledge(rig, 2, {0: [(0, 0, ACCEPT)]})


async def test_the_last_one_ends_the_session(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        (data,) = await acknowledge(rig, -1, {0: [(0, 0, ACCEPT)]})
        assert data.error_code == 0
        assert len(rig.sharing.sessions) == 0
        assert acquired(await fetch(rig, 0, {0: []})) == [(1, 9, 2)]


async def test_what_is_forgotten_can_be_acknowledged(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        assert (await fetch(rig, 1, forgotten=[0])).responses == []
        (data,) = await acknowledge(rig, 2, {0: [(0, 9, RELEASE)]})
        assert data.error_code == 0


async def test_the_answer_waits_until_it_is_durable(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig, partitions=2)
        await fetch(rig, 0, {0: [], 1: []})
        rig.states.holds = True
        answer = say(rig, 1, {0: [(0, 9, ACCEPT)], 1: [(0, 9, RELEASE)]})
        await settle()
        assert not answer.done()
        rig.states.let_go()
        assert answer.result().error_code == 0
