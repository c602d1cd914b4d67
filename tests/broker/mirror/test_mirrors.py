from pathlib import Path

import pytest

from odradek.broker.mirror.mirror_error import MirrorError
from odradek.client.errors import TlsFailed
from tests.broker.mirror.rig import SETTINGS, T0, SourceCluster, mirror_rig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topics": "("}, "has a \\( without its"),
        ({"name": "a b"}, "contains one or more characters"),
    ],
)
async def test_settings_that_are_of_no_use(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    async with mirror_rig(tmp_path) as rig:
        with pytest.raises(MirrorError, match=message):
            await rig.mirrors.add(SETTINGS._replace(**change))
        assert list(rig.mirrors) == []


async def test_a_source_that_cannot_be_one(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.error = OSError("nobody listens")
        with pytest.raises(MirrorError, match="nobody listens"):
            await rig.add()
        rig.source.error = None
        rig.source.cluster_id = rig.broker.topics.cluster_id
        with pytest.raises(MirrorError, match="is this very cluster"):
            await rig.add()
        rig.source.cluster_id = "source"
        await rig.add()
        with pytest.raises(MirrorError, match="there is a mirror m already"):
            await rig.add()


@pytest.mark.parametrize(
    ("error", "config", "advice"),
    [
        (ConnectionResetError("reset"), "", "^reset; if its listener wants TLS .*file"),
        (ConnectionResetError("reset"), "/c", "^reset; does /c have what its listener"),
        (ConnectionRefusedError("refused"), "", "^refused$"),
        (TlsFailed("no TLS"), "/c", "^no TLS$"),
    ],
)
async def test_who_hangs_up_may_want_other_options(
    tmp_path: Path, error: Exception, config: str, advice: str
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.error = error
        with pytest.raises(MirrorError, match=advice):
            await rig.add(SETTINGS._replace(command_config=config))


async def test_promotion_waits_for_what_the_source_has(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        copy = rig.mirror.copies[T0]
        copy.stop_reason = "it was stopped"
        rig.source.append(b"b")
        with pytest.raises(
            MirrorError, match="t-0 is at offset 1 of 2: it was stopped"
        ):
            await rig.promote()
        rig.source.error = OSError("down")
        with pytest.raises(MirrorError, match="the source cannot be asked: down"):
            await rig.promote()
        assert rig.broker.manager.partition(T0).leadership.is_read_only
        with pytest.raises(MirrorError, match="x: no topic of mirror m"):
            await rig.promote("x")
        assert await rig.promote("t", timeout_ms=None) == [("t", {0: 1})]


async def test_a_topic_that_is_not_copied_is_not_promoted_by_chance(
    tmp_path: Path,
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        del rig.source.topics["t"]
        await rig.until(lambda: rig.mirror.topic_copies.troubles)
        with pytest.raises(MirrorError, match="topic t: the source has it no more"):
            await rig.promote()
        assert await rig.promote(timeout_ms=None)


async def test_a_mirror_goes_when_its_topics_are_promoted(tmp_path: Path) -> None:
    source = SourceCluster()
    async with mirror_rig(tmp_path, source) as rig:
        source.add_topic()
        source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        with pytest.raises(MirrorError, match="t is not promoted; odradek mirror prom"):
            await rig.mirrors.remove("m")
        source.append(b"b")
        await rig.until(rig.is_copied)  # it goes on
        await rig.promote()
        await rig.mirrors.remove("m")
        assert not rig.broker.services.mirrored.promoted
        with pytest.raises(MirrorError, match="there is no mirror m; there is none"):
            rig.mirrors.known("m")
