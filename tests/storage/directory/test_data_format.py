from pathlib import Path

import pytest

from odradek.protocol.uuids import random_uuid
from odradek.storage.directory import data_format
from odradek.storage.directory.data_format import (
    DATA_FORMAT,
    FORMAT_SINCE,
    BadLogDirectory,
    check_formats,
)
from odradek.storage.files.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.fsck.directory_check import DirectoryCheck
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import ROOT, NoLock, opened

OURS = MetaProperties("cluster", 1, random_uuid())
NEWER = OURS._replace(data_format=DATA_FORMAT + 1, format_since="9.8.0")


def holding(identity: MetaProperties) -> FakeFiles:
    files = FakeFiles()
    files.put(ROOT / "x", b"")
    write_meta_properties(files, ROOT, identity)
    return files


def test_a_new_directory_says_its_format() -> None:
    files = FakeFiles()
    opened(files)
    text = files.content(ROOT / "meta.properties").decode()
    assert f"odradek.format={DATA_FORMAT}\nodradek.format.since={FORMAT_SINCE}" in text


def test_a_directory_that_does_not_say_has_the_first_format_and_stays_as_it_is() -> (
    None
):
    files = FakeFiles()
    identity = b"version=1\ncluster.id=cluster\nnode.id=1\n"
    identity += b"directory.id=yheGsQI8Ub5tzphXejDqHQ\n"
    files.put(ROOT / "meta.properties", identity)
    opened(files)
    assert files.content(ROOT / "meta.properties") == identity


def test_a_newer_format_is_refused_in_one_sentence() -> None:
    files = holding(NEWER)
    before = files.content(ROOT / "meta.properties")
    wanted = (
        f"/data has data format {DATA_FORMAT + 1}, which odradek 9.8.0 or a later one"
        f" wrote and reads; this one reads formats up to {DATA_FORMAT}: run the newer"
        " one, or restore a backup from before it"
    )
    with pytest.raises(BadLogDirectory) as at_once:
        check_formats(files, [Path("/nothing"), ROOT])
    with pytest.raises(BadLogDirectory) as when_opened:
        opened(files)
    assert str(at_once.value) == str(when_opened.value) == wanted
    assert files.content(ROOT / "meta.properties") == before


def test_an_older_format_becomes_this_one_when_it_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = holding(OURS)
    monkeypatch.setattr(data_format, "DATA_FORMAT", DATA_FORMAT + 1)
    monkeypatch.setattr(data_format, "FORMAT_SINCE", "9.8.0")
    check_formats(files, [ROOT])
    opened(files)
    files.power_cut()
    assert read_meta_properties(files, ROOT) == NEWER


def test_an_unfinished_directory_is_refused() -> None:
    files = holding(OURS._replace(unfinished="a restore"))
    for see in (lambda: check_formats(files, [ROOT]), lambda: opened(files)):
        with pytest.raises(BadLogDirectory, match="/data is unfinished: a restore was"):
            see()


def test_what_cannot_be_read_is_left_to_who_opens_it() -> None:
    files = FakeFiles()
    files.put(ROOT / "meta.properties", b"\xff\xfe")
    check_formats(files, [ROOT])


def test_another_cluster_is_said_first() -> None:
    files = holding(NEWER._replace(cluster_id="other"))
    with pytest.raises(BadLogDirectory, match="of cluster other"):
        opened(files)


def test_fsck_says_that_it_cannot_judge_a_newer_format() -> None:
    check = DirectoryCheck(holding(NEWER), ROOT, reads_records=False)
    check.prepare()
    assert [each.code for each in check.report.findings] == ["format"]


def test_the_lock_is_free_again_for_the_newer_program() -> None:
    released = []

    class Lock(NoLock):
        def release(self) -> None:
            released.append(self.directory)

    from odradek.storage.directory.log_directories import LogDirectories
    from odradek.storage.directory.log_directory import LogDirectory

    directories = LogDirectories([LogDirectory(holding(NEWER), ROOT)])
    with pytest.raises(BadLogDirectory):
        directories.open("cluster", 1, Lock, lambda _: None)
    assert released == [ROOT]
