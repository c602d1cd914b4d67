from odradek.terminal.table import printable, table


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
