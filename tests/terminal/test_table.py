import re

from odradek.terminal.screen import Screen
from odradek.terminal.table import marked, printable, shortened, table, width_of


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    rows = [("a", 1, None, ""), ("long", -22, 3, "note"), ("b", None, 10, "")]
    assert table(("NAME", "N", "LAG", "NOTE"), rows) == [
        "NAME    N  LAG  NOTE",
        "a       1    -",
        "long  -22    3  note",
        "b       -   10",
    ]


def test_a_column_of_nothing() -> None:
    assert table(("A", "HOST"), [(None, None)]) == ["A  HOST", "-  -"]


def test_without_rows_there_is_the_head() -> None:
    assert table(("A", "B"), []) == ["A  B"]


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert printable("a\nb\x1b[2Jc é") == "a\\nb\\x1b[2Jc é"
    assert table(("A",), [("x\ny",)])[1] == "x\\ny"


HEAD = ("OPTION", "VALUE", "SOURCE")
ROWS = [
    ("log.cleaner.delete.retention.ms", "86400000", "DEFAULT_CONFIG"),
    ("early.start.listeners", "a" * 100, "STATIC_BROKER_CONFIG"),
]


def test_a_row_is_one_line_of_the_terminal() -> None:
    lines = table(HEAD, ROWS, Screen(width=70))
    assert lines == [
        "OPTION                           VALUE              SOURCE",
        "log.cleaner.delete.retention.ms  86400000           DEFAULT_CONFIG",
        "early.start.listeners            aaaaaaaaaaaaaaaa…  STATIC_BROKER_CON…",
    ]
    assert max(map(len, lines)) <= 70


def test_what_fits_is_left_alone() -> None:
    assert table(HEAD, ROWS, Screen(width=157)) == table(HEAD, ROWS, Screen())


def test_without_a_terminal_nothing_is_cut() -> None:
    assert "a" * 100 in table(HEAD, ROWS, Screen(width=None))[2]


def test_the_name_is_cut_when_nothing_else_is_left() -> None:
    lines = table(HEAD, ROWS, Screen(width=30))
    assert lines[1] == "log.cleaner.d…  86400…  DEFAU…"
    # Nor is it narrower than its columns can be: then lines are broken.
    assert table(HEAD, ROWS, Screen(width=3))[1] == "log.c…  86400…  DEFAU…"


def test_numbers_are_whole_and_their_heading_is_cut() -> None:
    rows = [("orders", 12345678901, "x" * 30)]
    lines = table(("TOPIC", "LOG-END-OFFSET", "WHO"), rows, Screen(width=30))
    assert lines == [
        "TOPIC   LOG-END-OF…  WHO",
        "orders  12345678901  xxxxxxxx…",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert shortened("日本語", 5, "…") == "日本…"
    assert shortened("日本語", 4, "…") == "日…"
    assert table(("A", "B"), [("日本", "x"), ("abcd", "y")]) == [
        "A     B",
        "日本  x",
        "abcd  y",
    ]


def test_colors_do_not_move_columns() -> None:
    rows = [("billing", marked("Dead", True), 1), ("b", marked("Stable", False), 20)]
    head = ("GROUP", "STATE", "N")
    colored = table(head, rows, Screen(has_colors=True))
    assert colored[1] == "billing  \x1b[33mDead\x1b[0m     1"
    assert colored[0].startswith("\x1b[1mGROUP\x1b[0m    \x1b[1mSTATE\x1b[0m")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in colored]
    assert plain == table(head, rows, Screen())


def test_nothing_can_be_marked() -> None:
    assert table(("A",), [(marked(None, True),)], Screen(has_colors=True))[1] == (
        "\x1b[33m-\x1b[0m"
    )
