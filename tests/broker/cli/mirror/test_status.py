import pytest

from odradek.broker.cli.mirror import status
from odradek.client.cluster import Cluster
from odradek.client.topics import delete_topic
from tests.broker.cli.mirror.conftest import Pair
from tests.client.live import create_topic, produce, wait_until


def test_how_far_it_is_and_what_is_in_the_way(pair: Pair, there: Cluster) -> None:
    create_topic(there, "seen", 1)
    produce(there, "seen", 0, [1, 2])
    pair.run("add", "seen", "--from", pair.source.address, "--topics", "seen")
    wait_until(lambda: pair.lag("seen") == 0)
    first, head, row = pair.run("status", "seen").splitlines()
    assert first.startswith(f"mirror seen: seen from {pair.source.address}, cluster ")
    assert first.endswith(": 1 topics followed, 0 promoted, 0 groups, lag 0")
    assert head.split() == ["TOPIC", "PARTITION", "COPIED", "SOURCE", "LAG", "TROUBLE"]
    assert row.split() == ["seen", "0", "2", "2", "0"]
    assert "there is no mirror x; there are " in pair.run("status", "x", code=1)
    delete_topic(there, "seen")
    wait_until(lambda: "has it no more" in trouble(pair))
    assert "promoted first" not in pair.run("promote", "seen", "--now")
    pair.run("remove", "seen")


def trouble(pair: Pair) -> str:
    """What stands in the table, whatever the exit code is."""
    from odradek.broker.cli.main import main

    main(["mirror", "status", "seen", "--data-dir", str(pair.ours.data_dir)])
    assert pair._captured is not None
    return pair._captured.readouterr().out


def test_a_mirror_that_has_not_looked_and_topics_without_partitions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = {
        "mirror": "m",
        "bootstrap": "a:1",
        "clusterId": "c",
        "topics": ".*",
        "isKnown": False,
        "troubles": ["nobody listens"],
    }
    topic = {"mirror": "m", "topic": "t", "partition": None, "trouble": "why"}
    status._show([mirror, topic])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        "mirror m: .* from a:1, cluster c: not looked at since the start".split(),  # noqa: SIM905
        ["nobody", "listens"],
        ["TOPIC", "PARTITION", "COPIED", "SOURCE", "LAG", "TROUBLE"],
        ["t", "-", "-", "-", "-", "why"],
    ]
