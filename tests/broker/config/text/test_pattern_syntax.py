from odradek.broker.config.text.pattern_syntax import (
    Alternatives,
    Assertion,
    Characters,
    Repeat,
    Sequence,
    Side,
    parse_pattern,
)


def letter(character: str) -> Characters:
    return Characters(((character, character),))


def test_a_pattern_becomes_a_tree() -> None:
    assert parse_pattern("^a|b{2,}") == Alternatives(
        (
            Sequence((Assertion.BEGIN, letter("a"))),
            Sequence((Repeat(letter("b"), 2, None),)),
        )
    )


def test_opposites_are_ranges_too() -> None:
    digits, others = parse_pattern(r"\d").parts[0], parse_pattern(r"\D").parts[0]  # type: ignore[union-attr]
    assert isinstance(digits, Characters)
    assert isinstance(others, Characters)
    for code in (*range(256), 0x10FFFF):
        assert digits.has(chr(code)) != others.has(chr(code))


def test_the_sides_of_a_place() -> None:
    assert [Side.of(each) for each in "a_9-é"] == [Side.WORD] * 3 + [Side.OTHER] * 2
    assert Assertion.BEGIN.holds(Side.NOTHING, Side.WORD)
    assert not Assertion.END.holds(Side.NOTHING, Side.WORD)
    assert Assertion.BOUNDARY.holds(Side.NOTHING, Side.WORD)
    assert not Assertion.BOUNDARY.holds(Side.NOTHING, Side.OTHER)
    assert Assertion.NO_BOUNDARY.holds(Side.WORD, Side.WORD)
