import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.topics import describe_topics
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic


def test_each_topic_goes_or_says_why_not(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "going-1", 1)
    create_topic(cluster, "going-2", 1)
    given = ("going-1", "going-0", "going-2")
    assert shell.run("topic", "delete", *given, code=1) == [
        "going-1: deleted",
        "going-2: deleted",
    ]
    assert "going-0: UNKNOWN_TOPIC_OR_PARTITION: " in shell.error
    assert not set(given) & set(describe_topics(cluster).found)
    assert shell.run("topic", "delete", "going-1", "--if-exists") == [
        "going-1: is not there"
    ]
    (said,) = shell.run_json("topic", "delete", "going-1", code=1)
    assert said == {
        "topic": "going-1",
        "deleted": False,
        "error": {
            "code": "UNKNOWN_TOPIC_OR_PARTITION",
            "message": "The topic 'going-1' does not exist.",
            "what": "going-1",
        },
    }


def test_a_name_that_was_meant_is_said_and_nothing_is_deleted(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, "staying-1", 1)
    for action in ("delete", "describe"):
        shell.run("topic", action, "staying-11", code=1)
        assert shell.error.endswith(" Did you mean staying-1?\n")
    given = ("--partitions", "2")
    shell.run("topic", "alter", "staying-11", *given, code=1)
    assert shell.error.endswith(" Did you mean staying-1?\n")
    shell.run("topic", "delete-records", "staying-11", "--before", "1", code=1)
    assert shell.error.endswith(" Did you mean staying-1?\n")
    assert "staying-1" in describe_topics(cluster).found


def test_those_of_a_pattern_are_shown_and_then_deleted(
    cluster: Cluster, shell: Shell
) -> None:
    for name in ("matching-1", "matching-2", "not-matching-1"):
        create_topic(cluster, name, 1)
    given = ("topic", "delete", "--pattern", "matching-.*")
    assert shell.run(*given) == [
        "matching-1: would be deleted",
        "matching-2: would be deleted",
        "nothing was deleted (dry run); --execute does it",
    ]
    shown = shell.run_json(*given)
    assert [(each["topic"], each["deleted"]) for each in shown] == [
        ("matching-1", False),
        ("matching-2", False),
    ]
    assert shell.run(*given, "--execute") == [
        "matching-1: deleted",
        "matching-2: deleted",
    ]
    assert shell.run(*given, "--execute") == ["no topic has such a name"]
    assert "not-matching-1" in describe_topics(cluster).found


def test_topics_of_the_broker_match_no_pattern(shell: Shell) -> None:
    assert shell.run("topic", "delete", "--pattern", "__.*") == [
        "no topic has such a name"
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "say which topics: by their names, or by --pattern REGEX"),
        (("a", "--pattern", "a"), "say which topics: by their names, or by"),
        (("a", "--execute"), "--execute is for --pattern; named topics are deleted"),
        (("--pattern", "("), "'(' is not a regular expression"),
    ],
)
def test_topics_are_named_in_one_way(
    given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["topic", "delete", *given])
    assert said in capsys.readouterr().err
