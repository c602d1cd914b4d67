"""Who asks, and what is wrong with what is said."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.share.said import told_of
from odradek.broker.metadata.features import SHARE_VERSION
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, InvalidRequest, UnsupportedVersion
from odradek.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    ShareAcknowledgePartition,
    ShareAcknowledgeRequest,
    ShareAcknowledgeTopic,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchTopic,
)
from tests.broker.share.rig import share_rig
from tests.fakes.access import entry
from tests.fakes.guarded_broker import codes_in, guarded_broker

from .rig import acknowledge, ask, begin, fetch

ACCEPT, RENEW = [1], [4]
INVALID, STATE = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize(
    "fields",
    [
        {"group_id": None},
        {"member_id": None},
        {"member_id": ""},
        {"member_id": "x" * 37},
    ],
)
async def test_who_does_not_say_who_it_is(tmp_path: Path, fields: Any) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        with pytest.raises(InvalidRequest):
            ask(rig, 0, {0: []}, **fields)
        with pytest.raises(InvalidRequest):
            await acknowledge(rig, 1, {0: []}, **fields)


async def test_share_groups_are_off(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await rig.broker.services.features.update({SHARE_VERSION: 0})
        with pytest.raises(UnsupportedVersion, match=r"share\.version is 0"):
            ask(rig, 0, {0: []})
        with pytest.raises(UnsupportedVersion):
            await acknowledge(rig, 1, {0: []})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((3, 1, ACCEPT), "Offsets 3 to 1 end before they begin."),
        ((0, 1, []), "Offsets 0 to 1 need one type, or one each: there are 0."),
        ((0, 3, [1, 1]), "Offsets 0 to 3 need one type, or one each: there are 2."),
        ((0, 0, [5]), "There is no acknowledgement of type 5."),
        ((0, 0, [-1]), "There is no acknowledgement of type -1."),
        ((0, 0, RENEW), "A request that renews locks must say that it does."),
        ((20, 21, ACCEPT), "Offsets 20 to 21 were not handed out to anybody."),
        ((3, 10, ACCEPT), "Offsets 3 to 10 were not handed out to anybody."),
    ],
)
async def test_what_makes_no_sense(tmp_path: Path, said: Any, words: str) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        (data,) = await acknowledge(rig, 1, {0: [said]})
        assert (data.error_code, data.error_message) == (INVALID, words)
        assert rig.states.written == []


async def test_what_is_not_there(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        said = {7: [(0, 0, ACCEPT)]}
        (data,) = await acknowledge(rig, 1, said)
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        (data,) = await acknowledge(rig, 2, said, topic_id=b"x" * 16)
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert await acknowledge(rig, 3, {0: []}) == []


async def test_who_does_not_have_it(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        await fetch(rig, 0, {0: []}, member_id="n")
        (data,) = await acknowledge(rig, 1, {0: [(0, 1, ACCEPT)]}, member_id="n")
        assert data.error_code == STATE
        assert data.error_message == "Member n does not have offset 0."


async def test_a_lock_is_renewed(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await fetch(rig, 0, {0: []})
        rig.clock.advance(20_000)
        (data,) = await acknowledge(rig, 1, {0: [(0, 9, RENEW)]}, is_renew_ack=True)
        assert data.error_code == 0
        rig.clock.advance(20_000)
        (data,) = await acknowledge(rig, 2, {0: [(0, 9, ACCEPT)]})
        assert data.error_code == 0


async def test_a_group_that_renews_nothing(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await begin(rig)
        await rig.set_options(renew_acknowledge_enable="false")
        await fetch(rig, 0, {0: []})
        (data,) = await acknowledge(rig, 1, {0: [(0, 9, RENEW)]}, is_renew_ack=True)
        assert data.error_code == STATE


def test_an_outcome_in_words() -> None:
    assert told_of(None) == (0, None)
    assert told_of(InvalidRequest("Offsets 3 to 4.")) == (INVALID, "Offsets 3 to 4.")


async def test_s018_who_may_not_read_the_topic(tmp_path: Path) -> None:
    group = entry(Operation.READ, "g", kind=ResourceType.GROUP)
    async with guarded_broker(tmp_path, "t") as broker:
        topic = broker.server.services.metadata.get("t")
        assert topic is not None
        fields: Any = {"group_id": "g", "member_id": "m"}
        fetched = ShareFetchTopic(
            topic_id=topic.topic_id, partitions=[ShareFetchPartition()]
        )
        fetch = ShareFetchRequest(
            topics=[fetched], max_bytes=1, max_records=1, **fields
        )
        broker.become()
        assert codes_in(await broker.ask(fetch, 2)) == [30]
        broker.become(group)
        assert codes_in(await broker.ask(fetch, 2)) == [29]
        batch = AcknowledgementBatch(acknowledge_types=ACCEPT)
        said = ShareAcknowledgeTopic(
            topic_id=topic.topic_id,
            partitions=[ShareAcknowledgePartition(acknowledgement_batches=[batch])],
        )
        acknowledge = ShareAcknowledgeRequest(
            topics=[said], share_session_epoch=1, **fields
        )
        assert codes_in(await broker.ask(acknowledge, 2)) == [29]
        broker.become(group, entry(Operation.READ, "t"))
        fetch.share_session_epoch = 1
        answer = await broker.ask(fetch, 2)
        assert codes_in(answer) == [ErrorCode.INVALID_SHARE_SESSION_EPOCH]
