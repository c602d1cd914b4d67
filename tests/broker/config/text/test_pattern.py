"""Against Python's own ``re``, where both understand a pattern, and what it costs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.config.text.pattern import STATES_MAX, compile_pattern
from odradek.protocol.errors import InvalidRegularExpression

LETTERS = "abA_0. -"
ATOMS = st.sampled_from(
    ["a", "b", "A", "0", ".", r"\.", r"\d", r"\W", r"\s", "[ab]", "[^a-b]", "[-a]"]
    + ["[]a]", r"[\d_]", r"[^\s.]", "^", "$", r"\b", r"\B", "(?i:a)", r"\x61", r"\-"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = inner.map("({})".format)
    times = st.sampled_from(["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{0}"])
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        st.tuples(grouped, times).map("".join),
        grouped,
    )


PATTERNS = st.recursive(ATOMS, _larger, max_leaves=6)


@given(PATTERNS, st.lists(st.text(LETTERS, max_size=6), min_size=1))
def test_it_matches_what_re_matches(pattern: str, texts: list[str]) -> None:
    ours = compile_pattern(pattern)
    for text in texts:
        if not text and r"\B" in pattern:
            continue  # re says until Python 3.14 that it is not there
        expected = re.fullmatch(pattern, text, re.ASCII) is not None
        assert ours.fullmatch(text) == expected, text


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        ("", [""], ["a"]),
        ("orders-.*", ["orders-", "orders-1"], ["x-orders-1", "Orders-1"]),
        (".", ["a", "☃"], ["\n", "", "ab"]),
        ("(?s).", ["\n"], [""]),
        ("(?i)aB|c", ["Ab", "C"], ["a"]),
        ("((?i)a)b", ["Ab"], ["AB"]),
        ("(?i:[a-c])d", ["Bd"], ["BD"]),
        ("(?-i)a", ["a"], ["A"]),
        ("(?P<name>a)(?<other>b)", ["ab"], ["a"]),
        (r"\Qa.b*\E+", ["a.b*", "a.b**"], ["axb"]),
        (r"\Qa.", ["a."], ["ab"]),
        (r"\x{263a}\x41", ["\u263aA"], ["A"]),
        (r"\t\n\D\W\S", ["\t\na-b"], ["\t\n1-b"]),
        (r"\Aab\z", ["ab"], ["ab\n"]),
        ("ab$", ["ab"], ["ab\n"]),
        ("a{,2}|a{x}|{", ["a{,2}", "a{x}", "{"], ["aa", "a"]),
        ("[a-]|[^-a]", ["a", "-", "b"], ["ab"]),
        ("é[à-ö]", ["éé"], ["e"]),
        (r"[\w-.]", ["a", "-", "."], ["+"]),
        (r"\é(?U)a*?", ["é", "éa"], ["a"]),
    ],
)
def test_the_syntax(pattern: str, matches: list[str], others: list[str]) -> None:
    ours = compile_pattern(pattern)
    assert [text for text in [*matches, *others] if ours.fullmatch(text)] == matches


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "end where something is missing|without its"),
        ("a)", "without its"),
        ("(a", "without its"),
        ("*", "nothing to repeat"),
        ("a**", "a repetition of a repetition"),
        ("a|+", "nothing to repeat"),
        ("{2}", "nothing to repeat"),
        ("a(?i)*", "nothing to repeat"),
        ("[a", "end where something is missing"),
        ("[]", "end where something is missing"),
        ("[b-a]", "impossible range"),
        (r"[a-\d]", "impossible range"),
        ("[[:alpha:]]", "named class"),
        (r"\pL", "unknown escape"),
        (r"(a)\1", "unknown escape"),
        ("\\", "end where something is missing"),
        (r"\xg1", "no good number"),
        (r"\x{}", "no good number"),
        (r"\x{110000}", "no good number"),
        ("(?=a)", "unknown kind"),
        ("(?<=a)", "no good name"),
        ("(?P<a-b>a)", "no good name"),
        ("a{2,1}", "number of repetitions"),
        ("a{1001}", "number of repetitions"),
        ("(" * 200 + ")" * 200, "too many groups"),
        ("a" * 5000, "too long"),
        ("((a{100}){100}){100}", "too large"),
    ],
)
def test_what_is_refused(pattern: str, complaint: str) -> None:
    with pytest.raises(InvalidRegularExpression, match=complaint):
        compile_pattern(pattern)


def test_nothing_a_million_times_is_nothing() -> None:
    assert compile_pattern("(((){1000}){1000}){1000}").fullmatch("")


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(.*)*(.*)*x", "(a?){99}a{99}b"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """``re`` would take longer than anybody lives."""
    assert not compile_pattern(pattern).fullmatch("a" * 20_000)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [("a+b|c", "aab", True), ("a+b|c", "aabc", False), ("", "", True)],
)
def test_step_by_step_it_matches_the_same(
    pattern: str, text: str, matches: bool
) -> None:
    compiled = compile_pattern(pattern)

    def walked() -> tuple[int, bool]:
        walk, steps = compiled.walk(text), 0
        while True:
            try:
                assert next(walk) > 0
            except StopIteration as end:
                return steps, end.value
            steps += 1

    assert walked() == (len(text), matches)
    assert walked() == (0, matches), "now it is known"
    assert compiled.fullmatch(text) is matches


def test_what_is_remembered_is_bounded() -> None:
    pattern = compile_pattern("[^a]*")
    assert pattern.fullmatch("".join(map(chr, range(0x100, 0xD000))))
    assert pattern._known_count <= 10_000
    assert len(pattern._start.following) <= 10_000
    assert STATES_MAX <= 2_000
