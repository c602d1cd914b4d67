from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.client_quotas import QuotaEntity, QuotaKey
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionNotFound,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.share.rig import settle, share_rig
from tests.fakes.cluster import led_by
from tests.fakes.placed import EPOCH, LEADER, PlacedElsewhere
from tests.fakes.replicas import base_offsets

from .rig import acquired, answer_of, ask, begin, data_of, fetch

ACCEPT, RELEASE, RENEW = [1], [2], [4]


async def test_a_session_begins_and_goes_on(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        response = await fetch(rig, 0, {0: []})
        assert (response.error_code, response.acquisition_lock_timeout_ms) == (
            0,
            30_000,
        )
        (data,) = data_of(response)
        assert (data.partition_index, data.error_code) == (0, 0)
        assert base_offsets(data.records) == [0]
        assert acquired(response) == [(0, 9, 1)]
        assert (await fetch(rig, 1)).responses == [], "nothing is new"
        await rig.fill(size=2)
        assert acquired(await fetch(rig, 2)) == [(10, 11, 1)]


async def test_what_was_handed_out_is_acknowledged_with_the_next_fetch(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        response = await fetch(rig, 1, {0: [(0, 4, ACCEPT), (5, 9, RELEASE)]})
        (data,) = data_of(response)
        assert (data.acknowledge_error_code, acquired(response)) == (0, [(5, 9, 2)])
        (data,) = data_of(await fetch(rig, 2, {0: [(0, 0, ACCEPT), (9, 20, ACCEPT)]}))
        assert data.error_code == 0
        assert data.acknowledge_error_code == ErrorCode.INVALID_REQUEST
        assert data.acknowledge_error_message is not None
        (data,) = data_of(await fetch(rig, 3, {0: [(5, 9, ACCEPT)]}, forgotten=[0]))
        assert (data.acknowledge_error_code, data.acquired_records) == (0, [])


async def test_a_new_partition_is_always_answered(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig, partitions=2, batches=0)
        assert [
            each.partition_index for each in data_of(await fetch(rig, 0, {0: []}))
        ] == [0]
        assert data_of(await fetch(rig, 1)) == []
        (data,) = data_of(await fetch(rig, 2, {0: [], 1: []}))
        assert (data.partition_index, bytes(data.records)) == (1, b"")


async def test_epochs(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        for epoch in (1, -1):
            with pytest.raises(ShareSessionNotFound):
                ask(rig, epoch, {0: []})
        await fetch(rig, 0, {0: []})
        for epoch in (2, -2):
            with pytest.raises(InvalidShareSessionEpoch):
                ask(rig, epoch)
        await fetch(rig, 1)
        assert acquired(await fetch(rig, 0, {0: []})) == [], "it still has the locks"


async def test_the_last_one_ends_the_session_and_reads_nothing(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        assert (await fetch(rig, -1)).responses == []
        assert len(rig.sharing.sessions) == 0
        assert acquired(await fetch(rig, 0, {0: []})) == [(0, 9, 2)]


@pytest.mark.parametrize(
    ("epoch", "said", "fields"),
    [
        (0, {0: [(0, 0, ACCEPT)]}, {}),
        (0, {0: []}, {"share_acquire_mode": 7}),
        (0, {0: []}, {"is_renew_ack": True}),
        (0, {0: []}, {"is_renew_ack": True, "max_wait_ms": 0, "max_bytes": 0}),
    ],
)
async def test_what_cannot_be(
    tmp_path: Path, epoch: int, said: Any, fields: Any
) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        with pytest.raises(InvalidRequest):
            ask(rig, epoch, said, **fields)
        assert len(rig.sharing.sessions) == 0


async def test_who_renews_gets_nothing_else(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        await rig.fill()
        nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
        said = {0: [(0, 9, RENEW)]}
        response = await fetch(rig, 1, said, is_renew_ack=True, **nothing)
        (data,) = data_of(response)
        assert (data.acknowledge_error_code, data.acquired_records) == (0, [])
        (data,) = data_of(await fetch(rig, 2, said, version=1))
        assert data.acknowledge_error_code == ErrorCode.INVALID_REQUEST


async def test_what_is_not_there(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        (data,) = data_of(await fetch(rig, 0, {7: []}))
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        (data,) = data_of(await fetch(rig, 0, {0: []}, topic_id=b"x" * 16))
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        both = await fetch(rig, 0, {7: [], 0: []})
        assert [each.error_code for each in data_of(both)] == [3, 0]


async def test_exactly_so_many(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        response = await fetch(rig, 0, {0: []}, max_records=3, share_acquire_mode=1)
        assert acquired(response) == [(0, 2, 1)]
        whole = await fetch(rig, 0, {0: []}, max_records=3, member_id="n", version=1)
        assert acquired(whole) == [(3, 9, 1)]


async def test_no_more_than_a_fetch_may_bring(tmp_path: Path) -> None:
    async with share_rig(tmp_path, fetch_max_bytes=1024) as rig:
        await begin(rig, batches=0)
        for _ in range(20):
            await rig.fill()
        response = await fetch(rig, 0, {0: []})
        (data,) = data_of(response)
        assert 0 < len(data.records) <= 1024


async def test_there_is_no_room_for_another_session(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        rig.sharing.sessions.limit = 0
        answer = ask(rig, 0, {0: []})
        assert isinstance(answer, Parked)
        await settle()
        assert not answer.done(), "it would ask again at once"
        response = await answer_of(rig, answer)
        assert response.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


async def test_g025_its_connection_is_cut(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        assert len(rig.sharing.sessions) == 1
        rig.broker.connection.forget_connection()
        await settle()
        assert len(rig.sharing.sessions) == 0
        assert acquired(await fetch(rig, 0, {0: []}, member_id="n")) == [(0, 9, 2)]


async def test_the_answer_to_what_is_said_waits_until_it_is_durable(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig, batches=2)
        await fetch(rig, 0, {0: []}, max_records=10)
        rig.states.holds = True
        answer = ask(rig, 1, {0: [(0, 9, ACCEPT)]})
        await settle()
        assert not answer.done(), "though there are records"
        rig.states.let_go()
        assert acquired(answer.result()) == [(10, 19, 1)]


async def test_who_has_a_quota_gets_no_more_at_once(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig, batches=0)
        for _ in range(20):
            await rig.fill()
        services = rig.broker.services
        seconds = (services.config.quota_window_num - 1) * (
            services.config.quota_window_size_seconds
        )
        entity = QuotaEntity.of({"client-id": "test"}).resource
        options = {str(QuotaKey.FETCH): str(1024 / seconds)}
        await services.resources.alter(entity, lambda _: options)
        (data,) = data_of(await fetch(rig, 0, {0: []}))
        assert 0 < len(data.records) <= 1024


async def test_who_leads_instead_is_told(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        rig.broker.services.cluster = PlacedElsewhere()  # type: ignore[assignment]
        partition = rig.broker.manager.partition(TopicPartition("t", 0))
        partition.make_follower(led_by(LEADER, leader_epoch=EPOCH))
        response = await fetch(rig, 0, {0: []})
        (data,) = data_of(response)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert data.current_leader.leader_id == LEADER
        assert [each.host for each in response.node_endpoints] == ["other"]
