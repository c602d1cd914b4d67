"""What a scrape tells of mirrors."""

from pathlib import Path

from odradek.broker.operate.metrics.mirror_families import mirror_families
from tests.broker.mirror.rig import mirror_rig
from tests.fakes.replicas import replicas


async def test_nothing_is_loaded_to_tell_that_there_is_nothing(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        assert not any(each.lines for each in mirror_families(broker.services))
        assert broker.services.mirrors_in_use is None


async def test_how_far_it_is(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        size = len(rig.source.log().data)
        place = '{mirror="m",topic="t",partition="0"}'
        families = mirror_families(rig.broker.services)
        assert [line for each in families for line in each.lines] == [
            f"odradek_mirror_lag{place} 0",
            f"odradek_mirror_copied_bytes_total{place} {size}",
            'odradek_mirror_troubled_partitions{mirror="m"} 0',
            'odradek_mirror_source_answers{mirror="m"} 1',
        ]
