import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.admin.admin_client import AdminRefusal
from odradek.broker.cli.node.fsck import Target, command, find_targets
from odradek.broker.metadata.catalog.recovery import CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow
from odradek.storage.files.partition_metadata import parse_partition_metadata
from tests.storage.fsck.test_lock_holder import held

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka-4.3.1"
SOUND = GOLDEN / "plain-size-roll" / "log-dir"
DAMAGED = GOLDEN / "flip-active-middle" / "log-dir"

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A sound log directory, with a catalogue that knows its topic."""
    directory = tmp_path / "data"
    shutil.copytree(SOUND, directory)
    topic_id = parse_partition_metadata(
        (directory / "plain-0" / "partition.metadata").read_bytes()
    )
    store = CatalogStore(directory / CATALOG)
    store.insert_topics([(topic_id, "plain", 1, {"cleanup.policy": "delete"})])
    store.put_partitions([PartitionRow(topic_id, 0, 0, None, written=True)])
    store.close()
    return directory


def contents(directory: Path) -> dict[Path, tuple[bytes, int]]:
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_sound_is_code_0(capsys: Captured) -> None:
    assert command([str(SOUND)]) == 0
    partition, directory, total = capsys.readouterr().out.splitlines()
    assert partition.startswith(f"{SOUND / 'plain-0'}: 5 segments")
    assert partition.endswith("offsets 0 to 200: sound")
    assert directory == f"{SOUND}: directory: sound"
    assert total.startswith("total: 1 partition")


def test_damage_is_code_1_and_has_a_place(capsys: Captured) -> None:
    assert command([str(DAMAGED)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == (
        f"  DAMAGE {108:020d}.log, bytes 1700 to 2040, offsets 123 to 125:"
        " the checksum is wrong [batch]"
    )


def test_json(capsys: Captured) -> None:
    assert command(["--json", str(DAMAGED)]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["type"] for row in rows] == ["partition", "directory", "total"]
    assert rows[0]["findings"][0]["baseOffset"] == 123
    assert rows[2]["damage"] == 1


def test_quiet_says_only_what_is_damaged(capsys: Captured) -> None:
    assert command(["--quiet", str(SOUND), str(DAMAGED / "tt-0")]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 3
    assert shown[0].startswith(str(DAMAGED / "tt-0"))


def test_one_partition_knows_the_checkpoints_around_it(
    tmp_path: Path, capsys: Captured
) -> None:
    directory = tmp_path / "d"
    shutil.copytree(SOUND, directory)
    checkpoint = directory / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n1\nplain 0 300\n")
    assert command([str(directory / "plain-0")]) == 1
    assert "was durable up to offset 300" in capsys.readouterr().out


def test_nothing_is_changed(data: Path, capsys: Captured) -> None:
    before = contents(data)
    assert command(["--deep", str(data)]) == 0
    assert contents(data) == before
    assert set(contents(data)) == set(before)


def test_the_catalogue_says_what_should_be_there(data: Path, capsys: Captured) -> None:
    shutil.rmtree(data / "plain-0")
    assert command([str(data)]) == 1
    shown = capsys.readouterr().out
    assert "DAMAGE plain-0: was written to, the catalogue says" in shown


def test_with_the_catalogue_a_missing_segment_is_a_hole(
    data: Path, capsys: Captured
) -> None:
    middle = sorted((data / "plain-0").glob("*.log"))[1]
    for path in (data / "plain-0").glob(f"{middle.stem}.*"):
        path.unlink()
    assert command([str(data)]) == 1
    assert "[hole]" in capsys.readouterr().out


def test_a_damaged_catalogue(data: Path, capsys: Captured) -> None:
    path = data / CATALOG
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 5000)
    assert command([str(data)]) == 1
    assert "[catalogue]" in capsys.readouterr().out


def test_several_directories_of_different_brokers(
    tmp_path: Path, capsys: Captured
) -> None:
    other = tmp_path / "other"
    shutil.copytree(SOUND, other)
    (other / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=9\n")
    assert command([str(SOUND), str(other)]) == 1
    assert "belongs to node 9 of cluster x" in capsys.readouterr().out


def test_a_process_that_uses_the_directory_is_named(
    data: Path, capsys: Captured
) -> None:
    with held(data) as pid:
        assert command([str(data)]) == 0
        assert f"process {pid} is using the directory" in capsys.readouterr().out
        assert command([str(data / "plain-0")]) == 0
        assert "[in-use]" in capsys.readouterr().out
    assert command([str(data)]) == 0
    assert "[in-use]" not in capsys.readouterr().out


def test_what_the_running_broker_cannot_compact_is_named(
    data: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(directory: Path, request: dict[str, Any], _: float) -> Any:
        assert (directory, request) == (data, {"request": "uncleanable"})
        yield {"topic": "plain", "partition": 0, "reason": "no records"}
        raise AdminRefusal("the broker ended before it had answered")

    monkeypatch.setattr("odradek.broker.cli.admin.admin_client.ask", answer)
    text = "note plain-0: the running broker cannot compact it: no records"
    assert command([str(data)]) == 0
    assert text not in capsys.readouterr().out, "there is no broker to be asked"
    with held(data):
        assert command([str(data)]) == 0
        assert text in capsys.readouterr().out
        assert command([str(data / "plain-0")]) == 0
        assert "[uncleanable]" in capsys.readouterr().out


def test_what_a_directory_is() -> None:
    assert find_targets(SOUND)[0] == [Target(SOUND, is_partition=False)]
    partition = SOUND / "plain-0"
    assert find_targets(partition)[0] == [Target(partition, is_partition=True)]


def test_a_directory_of_log_directories(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(SOUND, tmp_path / name)
    (tmp_path / "three").mkdir()
    targets, _ = find_targets(tmp_path)
    assert [target.path.name for target in targets] == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("missing", "is not there"),
        ("file", "odradek dump-log shows files"),
        ("empty", "is neither a log directory nor that of a partition"),
    ],
)
def test_what_is_no_directory_of_a_broker(
    name: str, complaint: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert command([str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_a_typo_is_understood(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        command(["--jsno", "x"])
    assert ended.value.code == 2
    assert "did you mean --json?" in capsys.readouterr().err
