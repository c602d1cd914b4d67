import pytest

from odradek.storage.cleaner.damage_examination import examination
from odradek.storage.cleaner.plan import DamageFound
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import compacted_log, write
from tests.storage.logs import DIRECTORY


def test_the_range_is_that_of_the_damage_and_the_log_is_not_touched() -> None:
    files = FakeFiles()
    log = compacted_log(files)
    write(log, "a1 b1 c1 | z1")
    job = examination(log, DamageFound(0, 70))
    files.flip(DIRECTORY / f"{0:020d}.log", 100)
    entry = job()
    assert (entry.segment_base, entry.start, entry.end) == (0, 70, 140)
    assert (entry.base_offset, entry.last_offset) == (1, 1)
    assert not len(log.damage)


def test_a_segment_that_is_gone_is_not_examined() -> None:
    with pytest.raises(DamageFound):
        examination(compacted_log(), DamageFound(77, 0))
