from pathlib import Path
from typing import Any

from odradek.broker.control.waiting.assignments import Assignments
from odradek.broker.control.waiting.fetch_watch import FetchWatch
from odradek.broker.control.waiting.group_conditions import HasAssigned
from odradek.broker.control.waiting.share_conditions import HasAcquired
from odradek.broker.coordinator.group.share.heartbeat import ShareBeat
from odradek.broker.runtime.parked import Parked
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from tests.broker.share.rig import settle, share_rig


async def test_members_have_so_many_records(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        rig.states.begin(rig.key(), 0)
        await rig.fill()
        told: list[int] = []
        services = rig.broker.services
        some = HasAcquired(services, "g", 10, lambda: told.append(1))
        none = HasAcquired(services, "g", 0, lambda: None)
        assert some.missing() == "members of g have 0 records of 10"
        assert none.missing() == ""
        assert list(some.places()) == []
        session = rig.open()
        await rig.acquired(session)
        assert told
        assert some.missing() == ""
        assert none.missing() == "members of g have 10 records still"
        told.clear()
        rig.say(session, 0, 9, [1])
        await settle()
        assert told
        assert none.missing() == ""
        assert HasAcquired(services, "other", 0, lambda: None).missing() == ""
        for each in (some, none):
            each.end()
        told.clear()
        await rig.fill()
        await rig.acquired(session)
        assert not told


async def test_a_share_group_is_assigned_when_it_is_settled_where_it_begins(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        services = rig.broker.services
        await services.groups.create_topic()
        told: list[int] = []
        assignments = Assignments(
            services.metadata, FetchWatch(services, []), lambda: None
        )
        wait = HasAssigned(
            services, assignments, "g", 1, must_read=True, tell=lambda: told.append(1)
        )
        assert wait.missing() == "there is no group g"
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", subscribed_topic_names=["t"]
        )

        def initialise(starts: Any, state_epoch: int, finish: Any) -> Any:
            for key in starts:
                rig.states.begin(key)
            return finish(dict.fromkeys(starts))

        rig.states.initialise = initialise  # type: ignore[attr-defined]
        joined = services.groups.shares.beat(ShareBeat(request, "c", "/h"), str)
        assert isinstance(joined, Parked)
        for _ in range(10):
            await rig.clock.tick()
            await rig.broker.commit()
        assert joined.result().member_epoch == 3
        missing = "g is stable, and its members do not read t-0 yet"
        assert wait.missing() == missing
        session = rig.open()
        await rig.fill()
        await rig.acquired(session)
        assert told
        assert wait.missing() == ""
        wait.end()
        told.clear()
        await rig.fill()
        await rig.acquired(session)
        assert not told
