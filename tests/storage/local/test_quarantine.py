import logging
from collections.abc import Iterator

import pytest

from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.local.quarantine import QUARANTINE_NAME, Quarantine
from tests.fakes.files import FakeFiles
from tests.storage.batches import DIRECTORY

ONE = QuarantineEntry(0, 100, 200, 10, 19, "the checksum is wrong", 3)
TWO = QuarantineEntry(50, 300, 400, 70, 79, "no batch")
HOLE = QuarantineEntry(50, 900, 900, 95, 99, "the batches are missing")


@pytest.fixture
def files() -> FakeFiles:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    return files


@pytest.fixture
def quarantine(files: FakeFiles) -> Iterator[Quarantine]:
    quarantine = Quarantine(files, DIRECTORY)
    for entry in (HOLE, TWO, ONE):
        assert quarantine.add(entry)
    yield quarantine
    assert list(Quarantine.load(files, DIRECTORY)) == list(quarantine)


def test_ranges_survive_a_restart_in_order(quarantine: Quarantine) -> None:
    assert list(quarantine) == [ONE, TWO, HOLE]
    assert len(quarantine) == 3
    assert quarantine.of_segment(50) == (TWO, HOLE)
    assert quarantine.of_segment(1) == ()


def test_range_is_added_once_and_reported_once(
    quarantine: Quarantine, caplog: pytest.LogCaptureFixture
) -> None:
    assert quarantine.add(TWO._replace(start=410, end=420, base_offset=80))
    [line] = caplog.messages
    assert "00000000000000000050.log: bytes 410 to 420, offsets 80 to 79" in line
    assert not quarantine.add(TWO)
    assert not quarantine.add(TWO._replace(start=310, end=390, base_offset=72))
    assert not quarantine.add(HOLE)
    assert len(caplog.messages) == 1


def test_ranges_are_bounded_by_what_follows_their_segment(
    quarantine: Quarantine,
) -> None:
    quarantine.bound(50, 97)
    assert quarantine.of_segment(50) == (TWO, HOLE._replace(last_offset=96))
    quarantine.bound(50, 60)
    for entry in quarantine.of_segment(50):
        assert not entry.has_offsets
    quarantine.bound(0, 1000)
    assert quarantine.of_segment(0) == (ONE,)


def test_overlapping_ranges_are_merged(quarantine: Quarantine) -> None:
    assert quarantine.add(TWO._replace(start=350, end=500, last_offset=89))
    assert quarantine.add(HOLE._replace(base_offset=90, last_offset=96))
    assert quarantine.of_segment(50) == (
        TWO._replace(end=500, last_offset=89),
        HOLE._replace(base_offset=90),
    )


def test_ranges_that_touch_stay_apart(quarantine: Quarantine) -> None:
    behind = TWO._replace(start=400, end=450, base_offset=75, last_offset=85)
    assert quarantine.add(behind)
    assert quarantine.of_segment(50) == (TWO, behind, HOLE)


def test_truncation_forgets_what_was_cut(quarantine: Quarantine) -> None:
    quarantine.truncate_from_end(97)
    assert list(quarantine) == [ONE, TWO, HOLE._replace(last_offset=96)]
    quarantine.truncate_from_end(75)
    assert list(quarantine) == [ONE, TWO._replace(end=300, last_offset=74)]
    quarantine.truncate_from_end(70)
    assert list(quarantine) == [ONE]


def test_deleted_segments_are_forgotten_with_the_file(
    quarantine: Quarantine, files: FakeFiles
) -> None:
    quarantine.truncate_from_start(50)
    assert list(quarantine) == [TWO, HOLE]
    quarantine.clear()
    assert not files.exists(DIRECTORY / QUARANTINE_NAME)


def test_range_is_durable_when_it_was_added(
    quarantine: Quarantine, files: FakeFiles
) -> None:
    files.sync_directory(DIRECTORY.parent)
    assert list(Quarantine.load(files, DIRECTORY)) == [ONE, TWO, HOLE]


@pytest.mark.parametrize("text", [b"0\n5\n", b"7\n0\n", b"\xff\xfe"])
def test_unreadable_file_is_reported(
    files: FakeFiles, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    files.put(DIRECTORY / QUARANTINE_NAME, text)
    assert len(Quarantine.load(files, DIRECTORY)) == 0
    assert QUARANTINE_NAME in caplog.text


def test_range_is_known_when_it_cannot_be_written(files: FakeFiles) -> None:
    quarantine = Quarantine(files, DIRECTORY)
    files.fail("append", error=28)
    assert quarantine.add(ONE)
    assert list(quarantine) == [ONE]


def test_file_follows_the_directory(files: FakeFiles) -> None:
    quarantine = Quarantine(files, DIRECTORY)
    elsewhere = DIRECTORY.with_name("topic-0.abc-delete")
    files.rename(DIRECTORY, elsewhere)
    quarantine.moved(elsewhere)
    quarantine.add(ONE)
    assert files.exists(elsewhere / QUARANTINE_NAME)
