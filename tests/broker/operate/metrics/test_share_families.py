"""What a scrape tells of share groups."""

from pathlib import Path

from odradek.broker.operate.metrics.share_families import share_families
from tests.broker.share.rig import share_rig
from tests.fakes.replicas import replicas

SESSIONS = "kafka_server_sharesessioncache_sharesessionscount"
ACKNOWLEDGED = "kafka_server_sharegroupmetrics_recordacknowledgement_total"


async def test_nothing_is_loaded_to_tell_that_there_is_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        told = {each.name: each.lines for each in share_families(broker.services)}
        assert broker.services.sharing_in_use is None
        assert told[SESSIONS] == [f"{SESSIONS} 0"]
        assert f'{ACKNOWLEDGED}{{ackType="accept"}} 0' in told[ACKNOWLEDGED]


async def test_what_members_have_and_have_said(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        rig.states.begin(rig.key(), 0)
        await rig.fill(2)
        session = rig.open()
        assert await rig.acquired(session) == [(0, 19, 1)]
        rig.say(session, 0, 9, [1])
        rig.say(session, 12, 14, [2])
        lines = [
            line for each in share_families(rig.broker.services) for line in each.lines
        ]
        place = '{group="g",topic="t",partition="0"}'
        assert {
            f"{SESSIONS} 1",
            "kafka_server_sharesessioncache_sharepartitionscount 1",
            "odradek_share_acquired_records_total 20",
            "odradek_share_expired_locks_total 0",
            f'{ACKNOWLEDGED}{{ackType="accept"}} 10',
            f'{ACKNOWLEDGED}{{ackType="release"}} 3',
            f"kafka_server_sharepartitionmetrics_inflightmessagecount{place} 10",
            f"odradek_share_locked_records{place} 7",
            f"odradek_share_start_offset{place} 10",
        } <= set(lines)
