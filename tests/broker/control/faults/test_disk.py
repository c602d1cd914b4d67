"""Files whose writes and syncs fail: T340 and T341 by files."""

import asyncio
import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.control.faults.disk import Disk, FaultyFile, FaultyFiles
from odradek.broker.control.faults.match import Match
from odradek.broker.control.faults.rules import Rule
from odradek.broker.control.faults.when import When
from odradek.broker.control.fields import Fields
from odradek.broker.operate.admin_socket import AdminError
from odradek.storage.files.files import DiskFull, OsFile, StorageFailure
from tests.fakes.faulty import faulty


def rule(when: When | None = None, match: Match | None = None, **given: Any) -> Rule:
    match = match or Match()
    return Rule(1, match, when or When(), Disk(Fields(given), match))


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles(100)


@pytest.fixture
def file(files: FaultyFiles, tmp_path: Path) -> OsFile:
    directory = tmp_path / "t-1"
    directory.mkdir()
    file: Any = files.open(directory / "0.log", create=True)
    file.append(b"before")
    return file


def test_files_are_those_of_any_broker_while_no_rule_is_armed(
    files: FaultyFiles, file: OsFile
) -> None:
    assert type(file) is OsFile
    files.follow([rule(kind="full")])
    assert type(file) is FaultyFile
    assert type(files.file(file.path, 0)) is FaultyFile
    files.follow([])
    assert type(file) is OsFile
    assert type(files.file(file.path, 0)) is OsFile


def test_on_a_full_disk_nothing_is_changed_and_reading_goes_on(
    files: FaultyFiles, file: OsFile
) -> None:
    """T340"""
    told: list[Rule] = []
    files.tell = told.append
    armed = rule(kind="full")
    files.follow([armed])
    with pytest.raises(DiskFull):
        file.append(b"more")
    assert told == [armed]
    assert bytes(file.read_at(0, 99)) == b"before"
    file.sync()
    files.follow([])
    file.append(b"after")
    assert bytes(file.read_at(0, 99)) == b"beforeafter"


def test_a_short_write_is_cut_back(files: FaultyFiles, file: OsFile) -> None:
    files.follow([rule(kind="short_write")])
    with pytest.raises(DiskFull):
        file.append(b"more")
    assert file.path.read_bytes() == b"before"


def test_a_write_fails_as_it_is_told(files: FaultyFiles, file: OsFile) -> None:
    files.follow([rule(kind="fail_write")])
    with pytest.raises(StorageFailure):
        file.append(b"more")
    files.follow([rule(kind="fail_write", errno="edquot")])
    with pytest.raises(DiskFull) as raised:
        file.append(b"more")
    cause: Any = raised.value.__cause__
    assert cause.errno == errno.EDQUOT


def test_a_sync_fails(files: FaultyFiles, file: OsFile) -> None:
    """T341"""
    files.follow([rule(kind="fail_sync")])
    file.append(b"more")
    with pytest.raises(StorageFailure, match="its tail is unknown"):
        file.sync()


def test_only_so_often_and_only_where_it_is_meant(
    files: FaultyFiles, file: OsFile, tmp_path: Path
) -> None:
    elsewhere = Match(topic="u"), Match(topic="t", partition=0)
    files.follow([rule(match=match, kind="full") for match in elsewhere])
    file.append(b"1")
    files.follow([rule(When(times=1), Match(topic="t", partition=1), kind="full")])
    with pytest.raises(DiskFull):
        file.append(b"2")
    file.append(b"3")
    beside = files.open(tmp_path / "checkpoint", create=True)
    files.follow([rule(match=Match(topic="t"), kind="full")])
    beside.append(b"of no topic")


def test_a_slow_file_waits(
    files: FaultyFiles, file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    files.follow([rule(kind="slow", ms=50)])
    file.append(b"1")
    file.sync()
    files.follow([rule(kind="slow", ms=70, of="sync")])
    file.append(b"2")
    file.sync()
    assert waited == [0.05, 0.05, 0.07]


def test_no_sync_of_the_whole_file_system_passes_the_files_by(
    files: FaultyFiles,
) -> None:
    strategy = SimpleNamespace(file_system="all")
    plain = SimpleNamespace(_plain=SimpleNamespace(_strategy=Hashable(strategy)))
    strategy = plain._plain._strategy
    committer: Any = SimpleNamespace(directories=[plain])
    files.committer = committer
    files.follow([rule(kind="full")])
    assert strategy.file_system == "all"
    files.follow([rule(kind="fail_sync")])
    files.follow([rule(kind="fail_sync")])
    assert strategy.file_system is None
    files.follow([])
    assert strategy.file_system == "all"


class Hashable:
    """A strategy, which is the key of what it had."""

    def __init__(self, like: SimpleNamespace) -> None:
        self.file_system: Any = like.file_system


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"kind": "ful"}, Match()),
        ({"kind": "slow"}, Match()),
        ({"kind": "full", "ms": 5}, Match()),
        ({"kind": "fail_sync", "errno": "EI"}, Match()),
        ({"kind": "full"}, Match(group="g")),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, match: Match) -> None:
    with pytest.raises(AdminError):
        Disk(Fields(given), match)


async def test_rules_for_files_are_in_no_requests_way(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        files = FaultyFiles(100)
        broker.rules._files = files
        files.tell = lambda rule: asyncio.get_running_loop().call_soon(
            broker.rules._note, rule
        )
        armed = broker.arm(when={"times": 1}, disk={"kind": "full"})
        assert broker.is_untouched
        with pytest.raises(OSError, match="No space"):
            files.meet(Path("t-0/0.log"), "write")
        await armed.fired(1)
        assert files._class is OsFile
