import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.protocol.errors import UnknownMemberId
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import Member, create_topic, produce

HEAD = ["TOPIC", "PARTITION", "CURRENT-OFFSET", "NEW-OFFSET", "NOTE"]
START_MS = 1_700_000_000_000  # 2023-11-14T22:13:20Z


def offsets_of(cluster: Cluster, group: str) -> dict[int, int]:
    committed = committed_offsets(cluster, group)
    return {place.partition: each.offset for place, each in committed.items()}


def test_nothing_is_changed_unless_it_is_said(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "careful", 2)
    produce(cluster, "careful", 0, range(10))
    commit_offsets(cluster, "careful", {TopicPartition("careful", 0): 4})
    given = ("reset-offsets", "careful", "--to-latest", "--topic", "careful")
    for dry in ((), ("--dry-run",)):
        head, *rows, last = shell.group(*given, *dry)
        assert head.split() == HEAD
        assert [row.split() for row in rows] == [
            ["careful", "0", "4", "10"],
            ["careful", "1", "-", "0"],
        ]
        assert last == "nothing was changed (dry run); --execute does it"
        assert offsets_of(cluster, "careful") == {0: 4}
    assert shell.group(*given, "--execute")[-1] == "2 offsets were set"
    assert offsets_of(cluster, "careful") == {0: 10, 1: 0}


def test_every_way_to_say_where_to(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "ways", 1)
    produce(cluster, "ways", 0, [START_MS + 1000 * second for second in range(10)])
    place = TopicPartition("ways", 0)
    for arguments, offset in {
        ("--to-earliest",): 0,
        ("--to-latest",): 10,
        ("--to-offset", "7"): 7,
        ("--to-offset", "70"): 10,
        ("--to-datetime", "2023-11-14T22:13:23Z"): 3,
        ("--to-datetime", "2023-11-14T23:13:23+01:00"): 3,
        ("--by-duration", "2h"): 10,
        ("--by-duration", "P36500D"): 0,
        ("--shift-by", "2"): 7,
        ("--shift-by", "-2"): 3,
        ("--shift-by", "-20"): 0,
    }.items():
        commit_offsets(cluster, "ways", {place: 5})
        given = ("reset-offsets", "ways", *arguments, "--all-topics", "--execute")
        assert shell.group(*given)[-1] == "1 offset was set"
        assert offsets_of(cluster, "ways") == {0: offset}, arguments


def test_what_is_behind_the_log_is_said(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "clamped", 1)
    produce(cluster, "clamped", 0, range(3))
    given = ("reset-offsets", "clamped", "--to-offset", "9", "--topic", "clamped")
    assert shell.group(*given)[1].endswith("9 is past the end, which is taken instead")
    (answer,) = shell.json(*given)
    assert answer == {
        "group": "clamped",
        "executed": False,
        "partitions": [
            {
                "topic": "clamped",
                "partition": 0,
                "currentOffset": None,
                "newOffset": 3,
                "note": "9 is past the end, which is taken instead",
                "error": None,
            }
        ],
    }
    (answer,) = shell.json(*given, "--execute")
    assert answer["executed"]
    assert offsets_of(cluster, "clamped") == {0: 3}


def test_only_the_partitions_that_are_named(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "some", 3)
    scope = ("--topic", "some:0,2")
    shell.group("reset-offsets", "some", "--to-latest", *scope, "--execute")
    assert offsets_of(cluster, "some") == {0: 0, 2: 0}


def test_a_group_with_members_is_left_alone(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "busy", 1)
    place = TopicPartition("busy", 0)
    commit_offsets(cluster, "busy", {place: 0})
    member = Member(cluster, "busy", "busy", 0)
    given = ("reset-offsets", "busy", "--to-latest", "--all-topics")
    for execute in ((), ("--execute",)):
        assert shell.group(*given, *execute, code=1) == []
        assert shell.error.startswith(
            "odradek group reset-offsets: busy: the group has 1 member and is Stable:"
        )
        assert shell.error.count("\n") == 1
    member.leave()
    assert shell.group(*given, "--execute", code=0)[-1] == "1 offset was set"


def test_a_member_that_comes_in_between_is_noticed(
    cluster: Cluster, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(cluster, "between", 1)
    commit_offsets(cluster, "between", {TopicPartition("between", 0): 0})
    member = Member(cluster, "between", "between", 0)
    monkeypatch.setattr(
        "odradek.broker.cli.group.reset._refuse_members", lambda *_: None
    )
    given = ("reset-offsets", "between", "--to-latest", "--all-topics", "--execute")
    assert shell.group(*given, code=1)[-1] == "0 offsets were set"
    reason = f"UNKNOWN_MEMBER_ID: {UnknownMemberId()}"
    assert shell.error == (
        f"odradek group reset-offsets: between: between-0: {reason}\n"
    )
    (answer,) = shell.json(*given, code=1)
    assert answer["partitions"][0]["error"] == reason
    assert answer["error"] == {
        "code": "UNKNOWN_MEMBER_ID",
        "message": f"between-0: {reason}",
        "what": "between",
    }
    member.leave()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--all-topics"], "strange: nothing is committed; name topics with --topic"),
        (
            ["--topic", "strange-no"],
            "reset-offsets: strange-no: UNKNOWN_TOPIC_OR_PARTITION",
        ),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str], complaint: str, shell: Shell
) -> None:
    given = ("reset-offsets", "strange", "--to-latest", *arguments)
    assert shell.group(*given, code=1) == []
    assert complaint in shell.error


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--to-latest"], "one of the arguments --topic --all-topics is required"),
        (["--all-topics"], "one of the arguments --to-earliest --to-latest"),
        (["--to-latest", "--to-offset", "1", "--all-topics"], "not allowed with"),
        (["--to-lastest", "--all-topics"], "did you mean --to-latest?"),
        (["--by-duration", "soon", "--all-topics"], "write it like 2h"),
        (["--to-latest", "--all-topics", "--execute", "--dry-run"], "not both"),
    ],
)
def test_bad_usage(
    arguments: list[str],
    complaint: str,
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.group("reset-offsets", "g", *arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
