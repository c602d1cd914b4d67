import pytest

from odradek.protocol.jaas import JaasError, LoginModule, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_module_as_kafka_documents_it() -> None:
    text = f'{PLAIN} required username="alice" password="alice-secret";'
    (module,) = parse_jaas(text)
    options = {"username": "alice", "password": "alice-secret"}
    assert module == LoginModule(PLAIN, options)
    assert module.simple_name == "PlainLoginModule"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"a \"b\" \\ c"', r'a "b" \ c'),
        ("'single \"quoted\"'", 'single "quoted"'),
        (r'"a;b=c\tä\101"', "a;b=c\täA"),
        ("bare-word_1", "bare-word_1"),
        ('""', ""),
    ],
)
def test_values_are_quoted_as_in_java(written: str, read: str) -> None:
    (module,) = parse_jaas(f"{PLAIN} REQUIRED\n  // a comment\n password={written} ;")
    assert module.options == {"password": read}


def test_several_modules_and_comments() -> None:
    found = parse_jaas("A required x=1; /* and\n another */ b.B optional;")
    assert found == [LoginModule("A", {"x": "1"}), LoginModule("b.B", {})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "; A required;",
        "A;",
        "A needed;",
        'A required password="marker"',
        'A required password="marker;',
        'A required password "marker";',
        'A required "marker"="x";',
        "A required password=;",
        'A required = "marker";',
    ],
)
def test_what_is_none_is_refused_and_no_value_shown(text: str) -> None:
    with pytest.raises(JaasError) as caught:
        parse_jaas(text)
    assert "marker" not in str(caught.value)
