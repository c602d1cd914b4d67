import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic


def test_options_are_changed_together(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "changing", 1)
    where = ("config", "alter", "topic", "changing")
    given = ("--set", "retention.ms=4000", "--append", "cleanup.policy=compact")
    assert shell.run(*where, *given, "--dry-run") == [
        "topic changing: could be altered"
    ]
    (said,) = shell.run_json(*where, *given)
    assert said["altered"]
    assert said["changes"] == [
        {"operation": "SET", "name": "retention.ms", "value": "4000"},
        {"operation": "APPEND", "name": "cleanup.policy", "value": "compact"},
    ]
    (found,) = shell.run_json("topic", "describe", "changing")
    assert found["configs"] == {
        "cleanup.policy": "delete,compact",
        "retention.ms": "4000",
    }
    more = ("--delete", "retention.ms", "--subtract", "cleanup.policy=delete")
    assert shell.run(*where, *more) == ["topic changing: altered"]
    (found,) = shell.run_json("topic", "describe", "changing")
    assert found["configs"] == {"cleanup.policy": "compact"}
    (said,) = shell.run_json(*where, "--delete", "cleanup.polciy", code=1)
    assert said["error"]["code"] == "INVALID_CONFIG"
    assert said["error"]["message"].endswith("did you mean cleanup.policy?")
    shell.run(*where, "--set", "nonsense=1", "--set", "retention.ms=1", code=1)
    assert shell.error.startswith(
        "odradek config alter: topic changing: INVALID_CONFIG: "
    )
    (found,) = shell.run_json("topic", "describe", "changing")
    assert "retention.ms" not in found["configs"]


def test_what_only_a_start_reads_is_said_to_be_set_elsewhere(shell: Shell) -> None:
    given = ("config", "alter", "broker", "--set", "num.partitions=3")
    (said,) = shell.run_json(*given, code=1)
    assert said["error"]["what"] == "broker"
    assert "[num.partitions]" in said["error"]["message"]
    assert "in its properties file, or with 'odradek serve -o" in shell.error


def test_a_topic_that_is_not_there(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "altered-7", 1)
    for action in ("alter", "describe"):
        more = ("--set", "retention.ms=4000") if action == "alter" else ()
        shell.run("config", action, "topic", "altered-77", *more, code=1)
        assert f"odradek config {action}: topic altered-77: UNKNOWN_" in shell.error
        assert shell.error.endswith("Did you mean altered-7?\n")


def test_nothing_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", "alter", "topic", "t"])
    assert ended.value.code == 2
    assert "say what to change" in capsys.readouterr().err
