import pytest

from odradek.client.cluster import Cluster
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic
from tests.client.live_transactions import Producer


def test_transactional_ids_are_listed(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "txn-listed", 1)
    idle = Producer(cluster, "listed-idle")
    busy = Producer(cluster, "listed-busy")
    busy.add(TopicPartition("txn-listed", 0))

    def listed(*arguments: str) -> list[list[str]]:
        head, *rows = shell.txn("list", *arguments)
        assert head.split() == ["TRANSACTIONAL-ID", "STATE", "PRODUCER-ID"] + [
            "COORDINATOR"
        ]
        return [row.split()[:3] for row in rows if row.startswith("listed-")]

    first = ["listed-busy", "Ongoing", str(busy.producer_id)]
    second = ["listed-idle", "Empty", str(idle.producer_id)]
    assert listed() == [first, second]
    assert listed("--state", "ongoing,PrepareAbort") == [first]
    assert listed("--producer-id", str(idle.producer_id), "999999") == [second]
    assert listed("--pattern", "listed-.*le") == [second]
    assert listed("--longer-than", "0ms") == [first]  # and not what never began
    assert shell.txn("list", "--longer-than", "1h") == ["no transactional ids"]
    assert shell.txn_json("list", "--pattern", "listed-busy") == [
        {
            "transactionalId": "listed-busy",
            "state": "Ongoing",
            "producerId": busy.producer_id,
            "coordinator": 1,
        }
    ]
    assert shell.txn("list", "--pattern", "(", code=1) == []
    assert shell.error == (
        "odradek txn list: INVALID_REGULAR_EXPRESSION: The regular expression is not"
        " valid.\n"
    )
    busy.end(commit=False)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--state", "Ongoign"], "'Ongoign' is not known; did you mean Ongoing?"),
        (["--producer-id", "x"], "'x' is not a whole number, 0 or more"),
        (["--producer-id", "-1"], "'-1' is not a whole number, 0 or more"),
        (["--longer-than", "soon"], "'soon' is not a duration"),
    ],
)
def test_mistakes(
    arguments: list[str],
    complaint: str,
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.txn("list", *arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
