from odradek.client.cluster import Cluster
from tests.broker.cli.mirror.conftest import Pair
from tests.client.live import create_topic, wait_until


def test_a_mirror_that_follows_topics_stays(pair: Pair, there: Cluster) -> None:
    create_topic(there, "kept", 1)
    pair.run("add", "kept", "--from", pair.source.address, "--topics", "kept")
    wait_until(lambda: pair.lag("kept") == 0)
    assert "kept is not promoted; odradek mirror promote kept" in pair.run(
        "remove", "kept", code=1
    )
    assert pair.lag("kept") == 0
    pair.run("promote", "kept")
    assert pair.items("remove", "kept") == [{"mirror": "kept"}]
    assert "there is no mirror kept" in pair.run("remove", "kept", code=1)
