import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.topics import describe_topics
from tests.broker.cli.conftest import Shell

SMALL = ("bench", "--records", "2000", "--size", "50", "--batch-size", "5000")


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_both_phases_are_measured(shell: Shell, acks: str) -> None:
    produced, consumed = shell.run_json(*SMALL, "--acks", acks, "--partitions", "2")
    assert (produced["phase"], consumed["phase"]) == ("produce", "consume")
    for phase in produced, consumed:
        assert phase["records"] >= 2000
        assert phase["recordsPerSecond"] > 0
        assert set(phase["answerMs"]) == {"p50", "p95", "p99", "max"}
    assert (produced["answerMs"]["p50"] is None) == (acks == "0")


def test_the_topic_goes_unless_it_is_kept(cluster: Cluster, shell: Shell) -> None:
    lines = shell.run(*SMALL, "-z", "lz4", "--topic", "kept-bench", "--keep")
    assert [line.split(":")[0] for line in lines] == ["produce", "consume"]
    assert "answers in ms: p50 " in lines[0]
    names = set(describe_topics(cluster).found)
    assert "kept-bench" in names
    assert not [name for name in names if name.startswith("odradek-bench-")]
    shell.run(*SMALL, "--topic", "kept-bench", code=1)
    assert "TOPIC_ALREADY_EXISTS" in shell.error


def test_nothing_is_no_load(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--records", "0"])
    assert ended.value.code == 2
    assert "it must be more than 0" in capsys.readouterr().err
