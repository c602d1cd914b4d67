import json
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.cli.node.dump_log import command
from odradek.protocol.records import NewRecord, build_batch

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden" / "kafka-4.3.1"
DAMAGED = GOLDEN / "flip-active-middle" / "log-dir" / "tt-0" / f"{108:020d}.log"
SOUND = DAMAGED.with_name(f"{0:020d}.log")
OFFSETS = GOLDEN / "transaction-state" / "log-dir" / "__consumer_offsets-0"
TRANSACTIONS = OFFSETS.with_name("__transaction_state-0")

Captured = pytest.CaptureFixture[str]


def lines(capsys: Captured, *arguments: object) -> list[str]:
    command([str(argument) for argument in arguments])
    return capsys.readouterr().out.splitlines()


def test_a_sound_file_is_code_0(capsys: Captured) -> None:
    assert command([str(SOUND)]) == 0
    first, second, mark, third, *_ = capsys.readouterr().out.splitlines()
    assert mark.startswith("Note: what follows is not known to be durable, and above")
    assert (first, second) == (f"Dumping {SOUND}", "Log starting offset: 0")
    assert third.startswith("baseOffset: 0 lastOffset: 2 count: 3 baseSequence: 0")
    assert third.endswith("isvalid: true")


def test_damage_is_shown_with_its_place_and_code_1(capsys: Captured) -> None:
    assert command([str(DAMAGED), str(SOUND)]) == 1
    shown = capsys.readouterr().out.splitlines()
    at = shown.index(
        f"DAMAGE in {DAMAGED.name}, bytes 1700 to 2040: the checksum is wrong"
    )
    assert shown[at - 1].endswith("isvalid: false")
    assert shown[at + 1].startswith("baseOffset: 126")
    assert f"Dumping {SOUND}" in shown


def test_json_is_an_object_a_line(capsys: Captured) -> None:
    rows = [json.loads(line) for line in lines(capsys, "--json", "--deep", DAMAGED)]
    assert {row["file"] for row in rows} == {str(DAMAGED)}
    assert [row["type"] for row in rows].count("damage") == 1
    assert rows[0]["type"] == "file"
    batch = next(row for row in rows if row["type"] == "batch")
    assert batch["records"][0]["offset"] == 108


@pytest.mark.parametrize("flag", ["--deep", "--deep-iteration"])
def test_deep_shows_records(flag: str, capsys: Captured) -> None:
    shown = lines(capsys, flag, SOUND)
    assert sum(line.startswith("| offset: ") for line in shown) == 36
    assert not any(line.startswith("|") for line in lines(capsys, SOUND))


def test_keys_and_values(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(build_batch([NewRecord(b"a key", b"a value", 1)]))
    shown = lines(capsys, "--print-data-log", path)
    assert shown[-1].endswith("key: a key payload: a value")


def test_coordinators_records_are_decoded(capsys: Captured) -> None:
    shown = lines(capsys, "--offsets-decoder", *OFFSETS.glob("*.log"))
    assert any('"data":{"group":"etl"}' in line for line in shown)
    shown = lines(capsys, "--transaction-log-decoder", *TRANSACTIONS.glob("*.log"))
    assert any('"transactionalId":"etl-1"' in line for line in shown)


def test_files_as_kafkas_tool_takes_them(capsys: Captured) -> None:
    shown = lines(capsys, "--files", f"{SOUND},{DAMAGED}")
    assert [line for line in shown if line.startswith("Dumping")] == [
        f"Dumping {SOUND}",
        f"Dumping {DAMAGED}",
    ]


def test_the_directory_of_a_partition_is_its_files(capsys: Captured) -> None:
    shown = lines(capsys, OFFSETS)
    dumped = [line for line in shown if line.startswith("Dumping")]
    assert dumped == sorted(dumped)
    assert {f"Dumping {path}" for path in OFFSETS.glob("*.log")} <= {*dumped}


def test_only_the_first_bytes(capsys: Captured) -> None:
    shown = lines(capsys, "--max-bytes", 1, SOUND)
    assert sum(line.startswith("baseOffset: ") for line in shown) == 1


def complaint(capsys: Captured, *arguments: object) -> str:
    with pytest.raises(SystemExit) as ended:
        sys.exit(command([str(argument) for argument in arguments]))
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_what_cannot_be_shown_is_one_line_and_code_2(
    tmp_path: Path, capsys: Captured
) -> None:
    stranger = tmp_path / "notes.txt"
    stranger.touch()
    assert "is not there" in complaint(capsys, tmp_path / "x.log")
    assert "odradek fsck checks others" in complaint(capsys, tmp_path)
    assert "notes.txt is unknown; known are *.log" in complaint(capsys, stranger)
    assert "say which files" in complaint(capsys)
    assert "did you mean --deep?" in complaint(capsys, "--dep", SOUND)
    assert "did you mean --print-data-log?" in complaint(capsys, "--print-data", SOUND)
    assert "is not a number of bytes" in complaint(capsys, "--max-bytes", "1k", SOUND)
    both = ("--offsets-decoder", "--transaction-log-decoder", SOUND)
    assert "not allowed with" in complaint(capsys, *both)


def test_its_help_loads_nothing_of_the_storage() -> None:
    script = (
        "import sys; from odradek.broker.cli.main import main\n"
        "try: main([sys.argv[1], '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'asyncio', 'sqlite3', 'storage', 'protocol'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for name in ("dump-log", "fsck"):
        done = subprocess.run(
            [sys.executable, "-c", script, name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr.strip() == "[]"
