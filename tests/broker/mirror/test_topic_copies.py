from pathlib import Path

import pytest

from odradek.protocol.errors import PolicyViolation
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.mirror.rig import SETTINGS, T0, mirror_rig


async def test_options_follow_as_far_as_they_are_known_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic(retention_ms="1000", no_such_thing="1")
        await rig.add()
        await rig.until(lambda: rig.broker.topics.get("t"))
        assert dict(rig.broker.topics.known("t").options) == {"retention.ms": "1000"}
        topic = rig.source.topics["t"]
        rig.source.topics["t"] = topic._replace(
            options={"retention.ms": "2000", "no.such.thing": "1"}
        )
        wanted = {"retention.ms": "2000"}
        await rig.until(lambda: dict(rig.broker.topics.known("t").options) == wanted)
        assert sum("no.such.thing=1 is left out" in x for x in caplog.messages) == 1


async def test_a_topic_whose_options_may_not_be_seen_is_no_trouble_of_others(
    tmp_path: Path,
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic("t", retention_ms="1000")
        rig.source.add_topic("t-hidden")
        hidden = rig.source.topics["t-hidden"]
        rig.source.topics["t-hidden"] = hidden._replace(options=None)
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        troubles = rig.mirror.topic_copies.troubles
        assert list(troubles) == ["t-hidden"]
        assert "needs DESCRIBE_CONFIGS" in troubles["t-hidden"]
        assert rig.broker.topics.get("t-hidden") is None
        # What is copied already is copied on, with the options that it has.
        rig.source.topics["t-hidden"] = hidden
        rig.source.topics["t"] = rig.source.topics["t"]._replace(options=None)
        rig.source.append(b"b")
        await rig.until(lambda: list(rig.mirror.topic_copies.troubles) == ["t"])
        await rig.until(rig.is_copied)
        assert "options are not followed" in rig.mirror.topic_copies.troubles["t"]
        assert dict(rig.broker.topics.known("t").options) == {"retention.ms": "1000"}
        assert rig.broker.topics.get("t-hidden") is not None


async def test_a_topic_of_that_name_which_is_ours_is_left_alone(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        await rig.broker.create_topic("t")
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(lambda: rig.mirror.topic_copies.troubles)
        assert rig.mirror.topic_copies.troubles == {
            "t": "a topic of this name is here, which is another one"
        }
        assert not rig.broker.topics.mirrored
        assert not rig.broker.manager.partition(T0).leadership.is_read_only


async def test_a_topic_that_is_gone_stays_here_and_another_is_not_mixed_in(
    tmp_path: Path,
) -> None:
    async with mirror_rig(tmp_path) as rig:
        first = rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        before = rig.data()
        del rig.source.topics["t"]
        del rig.source.logs[first, 0]
        await rig.until(lambda: "t" in rig.mirror.topic_copies.troubles)
        assert "has it no more" in rig.mirror.topic_copies.troubles["t"]
        rig.source.add_topic()
        rig.source.append(b"another", b"one")
        await rig.until(
            lambda: (
                "another topic of this name" in rig.mirror.topic_copies.troubles["t"]
            )
        )
        assert (rig.data(), rig.broker.topics.known("t").topic_id) == (before, first)
        with pytest.raises(PolicyViolation, match="the mirror m follows"):
            rig.broker.topics.check_not_mirrored("t")


async def test_topics_of_the_brokers_own_are_not_copied(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic("__consumer_offsets")
        rig.source.add_topic("t")
        rig.source.append(b"a")
        await rig.add(SETTINGS._replace(topics=".*"))
        await rig.until(rig.is_copied)
        assert TopicPartition("__consumer_offsets", 0) not in rig.mirror.copies
