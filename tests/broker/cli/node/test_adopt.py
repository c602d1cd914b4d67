import json
import shutil
from pathlib import Path

import pytest

from odradek.broker.cli.node.adopt import command
from odradek.broker.cli.node.serve import command as serve
from odradek.client.connection import Connection
from tests.adopted import GOLDEN, METADATA_GOLDEN, Consumer
from tests.broker_process import running_broker
from tests.patience import PATIENCE_S

TWO = METADATA_GOLDEN / "topics"
ONE = METADATA_GOLDEN / "snapshot"


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    shutil.copytree(TWO, tmp_path / "two")
    return str(tmp_path / "two" / "log-dir-1"), str(tmp_path / "two" / "log-dir-2")


@pytest.fixture
def one(tmp_path: Path) -> str:
    """A directory without a metadata log."""
    shutil.copytree(GOLDEN / "idempotent", tmp_path / "one")
    return str(tmp_path / "one" / "log-dir")


def test_what_was_adopted_is_printed(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(list(two)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "cluster b2RyYWRlay1hZG9wdGlvbg, node 7",
        "next producer id 3000",
        f"topics and their options are from {two[0]}/__cluster_metadata-0",
    ]
    assert (
        "topic orders: 5 partitions cleanup.policy=compact,delete"
        " retention.ms=172800000 segment.bytes=1048576"
    ) in lines
    assert "broker options: 3" in lines
    served = f"odradek serve --data-dir {two[0]},{two[1]}"
    assert lines[-1] == f"catalogue written; start with: {served}"
    assert (Path(two[0]) / "catalog.db").exists()


def test_what_is_chosen_for_lack_of_metadata_is_printed(
    one: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command([one, "--topic-config", "*:segment.bytes=2097152"]) == 0
    out = capsys.readouterr().out
    assert "without a metadata log: topics have the options shown here" in out
    assert "retention.ms=-1 retention.bytes=-1 segment.bytes=2097152" in out


def test_a_dry_run_writes_nothing(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["--dry-run", "--log-dirs", ",".join(two)]) == 0
    assert capsys.readouterr().out.endswith("nothing was written (dry run)\n")
    assert not (Path(two[0]) / "catalog.db").exists()


def test_as_json(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = f"{two[0]}/../catalogue"
    assert command([*two, "--json", "--catalog-dir", elsewhere]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] is True
    assert told["node_id"] == 7
    assert told["serve"].endswith(f" -o metadata.log.dir={elsewhere}")
    orders = next(each for each in told["topics"] if each["name"] == "orders")
    assert orders["topic_id"] == "gDQd62aiQP24hSEc0jhfmw"
    assert orders["partitions"][1] == {
        "partition": 1,
        "leader_epoch": 5,
        "log_dir": two[1],
        "has_records": True,
    }
    assert (Path(elsewhere) / "catalog.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["nothing"], 1, "nothing is not a directory"),
        (["{one}", "{one}"], 1, "a log directory is given twice"),
        (["{one}", "--metadata-dir", "x"], 1, "there is no __cluster_metadata-0 in x"),
        (["{one}", "--topic-config", "t:x=1"], 2, "Unknown topic config name: x"),
        (["{one}", "--catalog-dir", "{one}/meta.properties"], 1, "meta.properties: "),
    ],
)
def test_a_refusal_is_one_line(
    arguments: list[str],
    code: int,
    complaint: str,
    one: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command([each.format(one=one) for each in arguments]) == code
    line = capsys.readouterr().err
    assert line.startswith("odradek adopt: ")
    assert complaint in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "which directory?"),
        (["a", "--topic-config", "retention.ms=1"], "is not like TOPIC:NAME=VALUE"),
        (["a", "--dryrun"], "did you mean --dry-run?"),
    ],
)
def test_a_bad_argument_is_code_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_without_it_a_directory_of_kafkas_is_not_served(
    one: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path(one).rglob("*"))
    assert serve(["--port", "0", "--data-dir", one]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == (
        f"odradek serve: {one} has data and no catalogue: if Apache Kafka wrote it,"
        f" run 'odradek adopt {one}' first"
    )
    assert sorted(Path(one).rglob("*")) == before


def test_adopt_and_serve_with_the_commands_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ONE, tmp_path / "one")
    directory = tmp_path / "one" / "log-dir"
    assert command([str(directory)]) == 0
    assert f"--data-dir {directory}\n" in capsys.readouterr().out
    with running_broker(directory) as broker:
        with Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S) as connection:
            assert Consumer(connection).offset("events-0", -1).offset == 18
        broker.terminate()
    assert (directory / ".kafka_cleanshutdown").exists()
