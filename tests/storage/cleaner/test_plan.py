from odradek.storage.cleaner.plan import DamageFound


def test_damage_says_where_it_is() -> None:
    found = DamageFound(100, 61)
    assert str(found) == "segment 100 is damaged at byte 61"
    assert (found.base_offset, found.position) == (100, 61)
