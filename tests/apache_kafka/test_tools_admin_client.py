"""The Java admin client on both brokers: the same scenes, played to their ends."""

import pytest

from tests.apache_kafka.both_brokers import BothBrokers
from tests.sampling import sampled


@pytest.mark.parametrize("scene", sampled(["by-id", "just-written"], "by-id"))
def test_scenes_play_alike(both: BothBrokers, scene: str) -> None:
    for broker in (both.kafka, both.ours):
        both.java.play("Topics", scene, broker, f"scene-{scene}")
