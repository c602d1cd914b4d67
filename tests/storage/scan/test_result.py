from odradek.storage.scan.result import DamagedRange, OffsetRepair, Recovery

REPAIR = OffsetRepair(100, 80, 7, 3, 5, 2)


def test_clean_is_what_has_neither_damage_nor_repairs_nor_a_tail() -> None:
    assert Recovery(300, 9, 300, ()).is_clean
    assert not Recovery(300, 9, 310, ()).is_clean
    assert not Recovery(300, 9, 300, (DamagedRange(0, 100, 0, 3),)).is_clean
    assert not Recovery(300, 9, 300, (), (REPAIR,)).is_clean


def test_a_repair_says_what_was_wrong() -> None:
    assert REPAIR.reason == "offset 7 contradicts what surrounds it: it is 3"
