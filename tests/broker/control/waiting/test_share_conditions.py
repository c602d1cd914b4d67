from pathlib import Path

from odradek.broker.control.waiting.share_conditions import HasAcquired
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
