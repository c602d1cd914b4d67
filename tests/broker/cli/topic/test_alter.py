import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic


def test_partitions_and_options(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "altered", 1)
    given = ("--partitions", "3", "--config", "retention.ms=7000")
    assert shell.run("topic", "alter", "altered", *given, "--dry-run") == [
        "altered: could be altered"
    ]
    (said,) = shell.run_json("topic", "alter", "altered", *given)
    assert said == {
        "topic": "altered",
        "altered": True,
        "partitions": 3,
        "set": {"retention.ms": "7000"},
        "deleted": [],
    }
    (found,) = shell.run_json("topic", "describe", "altered")
    assert (len(found["partitions"]), found["configs"]) == (3, {"retention.ms": "7000"})
    shell.run("topic", "alter", "altered", "--delete-config", "retention.ms")
    (found,) = shell.run_json("topic", "describe", "altered")
    assert found["configs"] == {}
    shell.run("topic", "alter", "altered", "--delete-config", "retentionms", code=1)
    assert "no option retentionms; did you mean retention.ms?\n" in shell.error
    shell.run("topic", "alter", "altered", "--partitions", "2", code=1)
    assert "altered: INVALID_PARTITIONS: " in shell.error
    shell.run("topic", "alter", "unaltered", "--config", "a=b", code=1)
    assert "unaltered: UNKNOWN_TOPIC_OR_PARTITION: " in shell.error


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "say what to change"),
        (["--config", "retention.ms"], "sets nothing; write it like"),
        (["--delete-config", "a=b"], "'a=b' cannot be the name of an option"),
        (["--partitions", "-1"], "not a whole number"),
    ],
)
def test_mistakes(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topic", "alter", "t", *given])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
