import json
from pathlib import Path

import pytest

from odradek.storage.backup.manifest import (
    BACKUP_FORMAT,
    BackedUpFile,
    BackedUpPartition,
    BadBackup,
    Damage,
    Manifest,
    read_manifest,
    write_manifest,
)
from tests.fakes.files import FakeFiles

BACKUP = Path("/backups/one")
PATH = BACKUP / "manifest.json"
MANIFEST = Manifest(
    odradek="0.1.0",
    made="2026-01-02T03:04:05Z",
    cluster_id="c",
    node_id=1,
    was_running=True,
    data_format=1,
    directories=["/data", "/ä"],
    partitions=[BackedUpPartition("t", 0, 1, 5, 9)],
    files=[BackedUpFile("1/t-0/x", 3, 77), BackedUpFile("0/catalog.db", 4, 1)],
    damage=[Damage("1/t-0/x", "flip", "why")],
    missing={"u-0": "offline"},
)


def written() -> FakeFiles:
    files = FakeFiles()
    files.mkdir(BACKUP)
    write_manifest(files, BACKUP, MANIFEST)
    return files


def test_a_manifest_comes_back() -> None:
    assert read_manifest(written(), BACKUP) == MANIFEST
    assert MANIFEST.size == 7


def test_every_flipped_bit_is_noticed() -> None:
    data = written().content(PATH)
    for position in range(len(data) - 1):  # the last is the end of the line
        if data[position] in b" \n":
            continue  # between its words JSON may have any space
        for bit in (0, 4):
            files = written()
            files.flip(PATH, position, bit)
            with pytest.raises(BadBackup):
                read_manifest(files, BACKUP)


def test_without_a_manifest_there_is_no_backup() -> None:
    with pytest.raises(BadBackup, match="is not a backup: it has no manifest"):
        read_manifest(FakeFiles(), BACKUP)


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff", b'{"crc32c": 1}'])
def test_what_is_no_manifest(content: bytes) -> None:
    files = FakeFiles()
    files.put(PATH, content)
    with pytest.raises(BadBackup):
        read_manifest(files, BACKUP)


def test_a_newer_backup_says_who_made_it() -> None:
    files = written()
    content = json.loads(files.content(PATH))
    content |= {"backup_format": BACKUP_FORMAT + 1, "odradek": "9.9", "new": 1}
    files.put(PATH, json.dumps(content).encode())
    wanted = f"format {BACKUP_FORMAT + 1}, written by odradek 9.9; this one reads"
    with pytest.raises(BadBackup, match=wanted):
        read_manifest(files, BACKUP)
