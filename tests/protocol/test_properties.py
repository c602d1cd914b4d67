from odradek.protocol.properties import Property, parse_properties


def test_java_writes_it_in_many_ways() -> None:
    text = (
        "# a comment\n"
        "! another\n"
        "\n"
        "a=1\n"
        "  b : 2\n"
        "c 3\n"
        "d\n"
        "e=x=y:z\n"
        "f=one,\\\n"
        "   two\n"
        "g=C:\\\\data\\tend\\u00e9\n"
        "h\\=i=j\n"
    )
    assert [(entry.name, entry.value) for entry in parse_properties(text)] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", ""),
        ("e", "x=y:z"),
        ("f", "one,two"),
        ("g", "C:\\data\tendé"),
        ("h=i", "j"),
    ]


def test_lines_are_counted_from_one_and_continued_ones_too() -> None:
    assert parse_properties("a=1\\\n2\nb=3") == [
        Property(1, "a", "12"),
        Property(3, "b", "3"),
    ]


def test_the_mark_of_an_editor_on_windows_is_no_part_of_a_name() -> None:
    assert parse_properties("\ufeffa=1\r\nb=2\r\n") == [
        Property(1, "a", "1"),
        Property(2, "b", "2"),
    ]


def test_an_even_number_of_backslashes_does_not_continue() -> None:
    assert parse_properties("a=x\\\\\nb=1") == [
        Property(1, "a", "x\\"),
        Property(2, "b", "1"),
    ]
