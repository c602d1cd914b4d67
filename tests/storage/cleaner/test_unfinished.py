from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.cleaner.unfinished import give_up, remove_unfinished
from tests.storage.cleaner.cleaning import MAP_SIZE, compacted_log, content, write
from tests.storage.logs import NOW


def test_what_was_written_and_not_taken_goes_and_nothing_else() -> None:
    log = compacted_log(segment_bytes=150)
    write(log, "a1 b1 | a2 c1 | b2 d1 | z1")
    files, before = log.local.files, content(log)
    plan = plan_round(log, find_cleanable(log, 0, NOW), NOW, MAP_SIZE)
    names = sorted(files.listdir(log.directory))
    cleaning = CleaningRound(files, plan)
    first, second = cleaning.clean_next(), cleaning.clean_next()
    assert first is not None
    assert second is not None
    give_up(files, plan, first.base_offset)
    left = set(files.listdir(log.directory)).difference(names)
    assert {int(name[:20]) for name in left} == {second.base_offset}
    remove_unfinished(files, plan)
    assert sorted(files.listdir(log.directory)) == names
    assert content(log) == before
