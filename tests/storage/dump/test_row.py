from odradek.storage.dump.row import Row, RowKind, damage, entry, note


def test_rows_of_every_sort() -> None:
    assert entry(offset=3) == Row(RowKind.ENTRY, {"offset": 3})
    assert note("why", end=4) == Row(RowKind.NOTE, {"end": 4, "reason": "why"})
    assert damage(1, 2, "why") == Row(
        RowKind.DAMAGE, {"position": 1, "end": 2, "reason": "why"}
    )
