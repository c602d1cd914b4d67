import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.cluster.images.metadata_log import LogPosition
from odradek.broker.cluster.registration.membership import Stage
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import MetadataImage
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import KafkaStorageError, SaslAuthenticationFailed
from odradek.protocol.membership_records import (
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from odradek.protocol.messages.brokers import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.metadata_records import FeatureLevelRecord
from tests.broker.cluster.cluster_state import topic
from tests.broker.cluster.joined import (
    OPTIONS,
    HastyClock,
    JumpingClock,
    SoonClock,
    applier,
    member,
)
from tests.fakes.joined_quorum import JoinedQuorum
from tests.patience import PATIENCE_S


async def test_it_registers_applies_what_there_was_and_is_let_in() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        assert set(images[0].topic_ids) == {"a"}
        assert images[0].brokers[1].epoch == made.broker_epoch
        assert made.membership.stage is Stage.RECOVERING
        await made.serve()
        assert made.membership.stage is Stage.SERVING
        assert not made.image.brokers[1].is_fenced, "clients are told of us"
        quorum.write(topic("b"))
        assert await made.applied_until(lambda it: "b" in it.topic_ids, 100_000)
        assert set(images[-1].topic_ids) == {"a", "b"}
        assert made.heartbeats.age_ms(made._clock.monotonic_ms()) is not None
        await made.leave()
        assert made.membership.stage is Stage.GONE
    assert quorum.asked[-1].want_shut_down


async def test_controllers_that_have_forgotten_are_not_followed() -> None:
    """The topics that they do not have any more would go here as well."""
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    clock = JumpingClock()
    async with member(quorum, clock) as (made, images):
        with pytest.raises(StartError) as raised:
            await made.join(applier(images), LogPosition(3, 50))
    assert "at offset 0 of epoch 1" in str(raised.value)
    assert "read to offset 50 of epoch 3" in str(raised.value)
    assert (quorum.asked, images) == ([], [])
    assert clock.looked_count == 2, "it would grow until it is no more behind"


async def test_controllers_with_another_log_are_not_followed() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    quorum.elect()
    quorum.write(topic("b"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        with pytest.raises(StartError, match="another metadata log"):
            await made.join(applier(images), LogPosition(1, 1))
    assert (quorum.asked, images) == ([], [])


async def test_what_was_known_before_is_read_before_anything_is_applied() -> None:
    """Who has just lost the lead may answer once more."""
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        joining = asyncio.create_task(made.join(applier(images), LogPosition(2, 1)))
        await until(lambda: bool(made._log.newest.image.topic_ids))
        assert quorum.asked == []
        quorum.elect()
        quorum.write(topic("b"))
        await joining
    assert set(images[0].topic_ids) == {"a", "b"}


async def test_what_does_not_come_is_not_waited_for_longer() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        assert not await made.applied_until(lambda it: "z" in it.topic_ids, 1)


async def test_the_controller_is_asked() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        answer = await made.ask_controller(EnvelopeRequest(), EnvelopeResponse)
        assert answer.response_data == b"\0\0\0\0\0"


async def test_who_leads_no_more_is_not_taken_at_its_word() -> None:
    """It says so of an envelope (41), and another one knows better."""
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum, SoonClock()) as (made, images):
        async with asyncio.timeout(PATIENCE_S):
            await made.join(applier(images))
            quorum.envelope_errors = [41, 41]
            answer = await made.ask_controller(EnvelopeRequest(), EnvelopeResponse)
            assert (answer.error_code, quorum.envelope_errors) == (0, [])
            quorum.envelope_errors = [42]  # something else is for who has asked
            answer = await made.ask_controller(EnvelopeRequest(), EnvelopeResponse)
            assert answer.error_code == 42


def unsteady(
    errors: list[Exception], tries: list[tuple[MetadataImage, MetadataImage]]
) -> Any:
    """Applies images, after it has failed with each of the errors."""

    async def apply(before: MetadataImage, after: MetadataImage) -> None:
        tries.append((before, after))
        if errors and "b" in after.topic_ids:
            raise errors.pop()

    return apply


@pytest.mark.parametrize(
    ("error", "bug_count"), [(KafkaStorageError("no room"), 0), (KeyError("a bug"), 1)]
)
async def test_an_image_that_fails_is_applied_when_it_can_be(
    caplog: pytest.LogCaptureFixture, error: Exception, bug_count: int
) -> None:
    quorum, bugs = JoinedQuorum(), Bugs()
    quorum.write(topic("a"))
    tries: list[tuple[MetadataImage, MetadataImage]] = []
    async with member(quorum, SoonClock(), bugs) as (made, _):
        async with asyncio.timeout(PATIENCE_S):
            await made.join(unsteady([error] * 3, tries))
            await made.serve()
            quorum.write(topic("b"))
            assert await made.applied_until(lambda it: "b" in it.topic_ids, 100_000)
            quorum.write(topic("c"))
            assert await made.applied_until(lambda it: "c" in it.topic_ids, 100_000)
            assert not made.failed.done()
    of_b = [each for each in tries if "b" in each[1].topic_ids]
    assert all(each == of_b[0] for each in of_b[:4])
    assert bugs.count == bug_count
    said = [each for each in caplog.records if "not applied yet" in each.message]
    assert len(said) == 1


async def test_who_cannot_apply_what_was_decided_stops() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum, SoonClock()) as (made, _):
        async with asyncio.timeout(PATIENCE_S):
            await made.join(unsteady([KafkaStorageError("no room")] * 100, []))
            await made.serve()
            quorum.write(topic("b"))
            assert "cannot be applied: no room" in await made.failed


async def test_what_cannot_be_kept_at_the_start_ends_it() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("b"))
    async with member(quorum) as (made, _), asyncio.timeout(PATIENCE_S):
        with pytest.raises(StartError, match="cannot be kept here: no room"):
            await made.join(unsteady([KafkaStorageError("no room")], []))


class Gate:
    """Applies images; that of the topic "b" not before it is opened."""

    def __init__(self) -> None:
        self.images: list[MetadataImage] = []
        self.is_reached, self.is_open = asyncio.Event(), asyncio.Event()

    async def apply(self, _: MetadataImage, after: MetadataImage) -> None:
        if "b" in after.topic_ids:
            self.is_reached.set()
            await self.is_open.wait()
        self.images.append(after)


async def until(is_there: Callable[[], bool]) -> None:
    for _ in iter(is_there, True):
        await asyncio.sleep(0)


async def test_who_leads_by_now_is_asked_for_the_registration() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    quorum.registration_errors = [101]  # that of a process which was killed
    quorum.elects_at_registration = True
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
    assert quorum.leader.node_id == 2


async def test_who_leads_by_now_hears_us_while_an_image_is_applied() -> None:
    quorum, gate = JoinedQuorum(), Gate()
    quorum.write(topic("a"))
    async with member(quorum) as (made, _), asyncio.timeout(PATIENCE_S):
        await made.join(gate.apply)
        await made.serve()
        quorum.write(topic("b"))
        await gate.is_reached.wait()
        quorum.elect()
        heard = len(quorum.asked)
        await until(lambda: len(quorum.asked) > heard + 1)
        assert made.membership.stage is Stage.SERVING
        gate.is_open.set()


async def test_who_has_failed_gives_away_what_it_leads() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum, SoonClock()) as (made, _):
        async with asyncio.timeout(PATIENCE_S):
            await made.join(unsteady([KafkaStorageError("no room")] * 100, []))
            await made.serve()
            quorum.write(topic("b"))
            await made.failed
            await made.leave()
            assert made.membership.stage is Stage.GONE
    assert quorum.asked[-1].want_shut_down


async def test_who_is_refused_waits_for_nobody_to_take_over() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        quorum.heartbeat_error = 104
        quorum.registration_error = 104
        await made.failed
        made._options = OPTIONS._replace(shutdown_timeout_ms=2000 * PATIENCE_S)
        await made.leave()
        assert made.membership.stage is not Stage.GONE


async def test_a_start_that_is_cancelled_leaves_no_image_half_applied() -> None:
    """A log that is renamed, and not noted, would be missed by the next start."""
    quorum, gate = JoinedQuorum(), Gate()
    quorum.write(topic("b"))
    async with member(quorum) as (made, _), asyncio.timeout(PATIENCE_S):
        joining = asyncio.create_task(made.join(gate.apply))
        await gate.is_reached.wait()
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
        assert gate.images == []
        gate.is_open.set()
    assert len(gate.images) == 1


async def test_who_does_not_hear_which_controller_leads_does_not_look_for_it() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        await made.serve()
        quorum.refusals = [MetadataLogError("it is cut below what is committed")]
        await made.failed
        quorum.elect()
        made._options = OPTIONS._replace(shutdown_timeout_ms=2000 * PATIENCE_S)
        await made.leave()
        assert made.membership.stage is Stage.LEAVING


async def test_no_image_is_applied_to_what_is_being_closed() -> None:
    quorum, gate = JoinedQuorum(), Gate()
    quorum.write(topic("a"))
    async with member(quorum) as (made, _), asyncio.timeout(PATIENCE_S):
        await made.join(gate.apply)
        await made.serve()
        quorum.write(topic("b"))
        await gate.is_reached.wait()
        leaving = asyncio.create_task(made.leave())
        await until(lambda: made.membership.stage is Stage.GONE)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not leaving.done(), "nothing is left half done"
        quorum.write(topic("c"))
        gate.is_open.set()
        await leaving
        applied = len(gate.images)
        assert "b" in made.image.topic_ids
        await until(lambda: "c" in made._log.newest.image.topic_ids)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(gate.images) == applied


async def test_a_bug_ends_no_heartbeats() -> None:
    quorum, bugs = JoinedQuorum(), Bugs()
    quorum.write(topic("a"))
    quorum.heartbeat_faults = [AssertionError("a bug")]
    async with member(quorum, bugs=bugs) as (made, images):
        async with asyncio.timeout(PATIENCE_S):
            await made.join(applier(images))
            await made.serve()
    assert bugs.count == 1


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (
            [FeatureLevelRecord(name="metadata.version", feature_level=31)],
            "metadata.version 31",
        ),
        (
            [RegisterControllerRecord(controller_id=1)],
            "that of a controller",
        ),
    ],
)
async def test_who_does_not_fit_is_not_registered(
    records: list[Any], words: str
) -> None:
    quorum = JoinedQuorum()
    quorum.write(*records)
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        with pytest.raises(StartError, match=words):
            await made.join(applier(images))
    assert quorum.asked == []


async def test_a_registration_that_is_refused_ends_the_start() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    quorum.registration_error = 119
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        with pytest.raises(StartError, match="log directory"):
            await made.join(applier(images))


async def test_an_id_in_use_ends_the_start_when_the_time_is_over() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    quorum.registration_error = 101
    async with member(quorum, HastyClock(quorum)) as (made, images):
        with pytest.raises(StartError, match=r"node\.id 1 is in use"):
            await made.join(applier(images))


async def test_controllers_that_do_not_let_us_in_may_do_so_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        await made.serve()
        quorum.refusals = [SaslAuthenticationFailed("wrong password")] * 3
        await asyncio.to_thread(quorum.has_refused.wait)
        quorum.write(topic("b"))
        assert await made.applied_until(lambda it: "b" in it.topic_ids, 100_000)
        assert not made.failed.done()
    (said,) = [x.message for x in caplog.records if "is not read" in x.message]
    assert "wrong password" in said


async def test_a_feature_that_comes_later_stops_the_broker() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        await made.serve()
        quorum.write(FeatureLevelRecord(name="metadata.version", feature_level=31))
        assert "metadata.version 31" in await made.failed


async def test_another_broker_with_our_id_stops_the_broker() -> None:
    quorum = JoinedQuorum()
    quorum.write(topic("a"))
    async with member(quorum) as (made, images), asyncio.timeout(PATIENCE_S):
        await made.join(applier(images))
        await made.serve()
        theirs = RegisterBrokerRecord(
            broker_id=1, incarnation_id=b"j" * 16, broker_epoch=1_000
        )
        quorum.write(theirs)
        await made.applied_until(lambda it: it.brokers[1].epoch == 1_000, 100_000)
        quorum.heartbeat_error = 77
        assert "another broker has registered" in await made.failed
