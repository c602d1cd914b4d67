from typing import Any

import pytest

from odradek.testing.records import (
    Record,
    all_to_json,
    check,
    dump,
    from_json,
    to_json,
)


def record(
    value: bytes | None, key: bytes | None = None, partition: int = 0, offset: int = 0
) -> Record:
    return Record(key, value, (), 5, partition, offset)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("x", {"value": "x"}),
        (b"x", {"value": "x"}),
        (b"\xff", {"value": {"base64": "/w=="}}),
        (None, {"value": None}),
        (("k", {"a": [1, "ü"]}), {"key": "k", "value": '{"a": [1, "ü"]}'}),
        ((7, 1.5), {"key": "7", "value": "1.5"}),
        ({"value": {"base64": "no"}}, {"value": '{"base64": "no"}'}),
        (
            {"key": "k", "headers": {"h": b"\xff", "i": None}, "partition": 3},
            {
                "partition": 3,
                "key": "k",
                "headers": [["h", {"base64": "/w=="}], ["i", None]],
            },
        ),
        ({"timestamp": 9, "headers": [("a", "1"), ("a", "2")]}, None),
    ],
)
def test_a_record_is_written_as_is_handy(given: Any, sent: Any) -> None:
    if sent is None:
        sent = {"timestamp": 9, "headers": [["a", "1"], ["a", "2"]]}
    assert to_json(given) == sent


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": 7}, 'written as {"value": {...}}'),
        (("a", "b", "c"), "not a pair of key and value"),
    ],
)
def test_what_may_mean_two_things_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"field|pair") as caught:
        to_json(given)
    assert message in str(caught.value)


def test_a_record_is_read_back() -> None:
    item = {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "timestamp": 5,
        "key": {"base64": "/w=="},
        "value": '{"a": 1}',
        "headers": [["h", None]],
        "what": "aborted",
    }
    read = from_json(item)
    assert read == Record(b"\xff", b'{"a": 1}', (("h", None),), 5, 1, 7, "aborted")
    assert (read.text, read.json) == ('{"a": 1}', {"a": 1})
    assert str(read) == "1:7 b'\\xff' = '{\"a\": 1}' headers {'h': None} (aborted)"
    assert (record(None).text, record(None).json) == (None, None)


def test_a_dump_shows_the_last_and_shortens_the_long() -> None:
    assert dump([]) == "  none"
    lines = dump([record(b"%d" % n, offset=n) for n in range(5)], 2).splitlines()
    assert lines == ["  … 3 before these", "  0:3 None = '3'", "  0:4 None = '4'"]
    assert len(dump([record(b"x" * 1000)])) < 120


def test_json_is_compared_as_json_and_text_as_bytes() -> None:
    there = [record(b'{"b":2,  "a":1}'), record(b"x"), record(None, b"k")]
    check(there, [{"value": {"a": 1, "b": 2}}, "x", ("k", None)], ordered=False)
    for other in ({"value": {"a": 1}}, {"value": '{"b":2,"a":1}'}, {"value": 7}):
        with pytest.raises(AssertionError, match="missing"):
            check(there[:1], [other], ordered=False)
    with pytest.raises(AssertionError, match="missing"):
        check([record(b"x")], [{"value": {"a": 1}}], ordered=False)


def test_only_what_is_said_is_compared() -> None:
    there = [Record(b"k", b"v", (("h", b"1"),), 5, 2, 0)]
    check(there, ["v"], ordered="key")
    check(there, [{"key": "k", "partition": 2, "headers": {"h": "1"}}], ordered="key")
    check(there, there, ordered=True)
    for other in ({"partition": 1}, {"headers": {}}, {"timestamp": 6}, ("j", "v")):
        with pytest.raises(AssertionError):
            check(there, [other], ordered="key")


def test_order_holds_among_the_records_of_a_key() -> None:
    a1, a2 = record(b"1", b"a", offset=0), record(b"2", b"a", offset=2)
    b1 = record(b"1", b"b", offset=1)
    there = [a1, b1, a2]
    check(there, [("b", "1"), ("a", "1"), ("a", "2")], ordered="key")
    with pytest.raises(AssertionError, match="in the place of 0:2 'a' = '2'"):
        check(there, [("b", "1"), ("a", "2"), ("a", "1")], ordered="key")
    check(there, [("b", "1"), ("a", "2"), ("a", "1")], ordered=False)
    with pytest.raises(AssertionError, match="in the place of"):
        check(there, [("b", "1"), ("a", "1"), ("a", "2")], ordered=True)


def test_records_without_a_key_have_an_order_in_one_partition_alone() -> None:
    one = [record(b"1", offset=0), record(b"2", offset=1)]
    with pytest.raises(AssertionError):
        check(one, ["2", "1"], ordered="key")
    two = [record(b"1", partition=0), record(b"2", partition=1)]
    check(two, ["2", "1"], ordered="key")


def test_a_failure_shows_both() -> None:
    with pytest.raises(AssertionError) as caught:
        check([record(b"x"), record(b"x", offset=1)], ["x", ("k", "y")], "key", "t")
    assert str(caught.value).splitlines() == [
        "t does not have the records that were expected",
        "  missing: 'k' = 'y'",
        "  not expected: 0:1 None = 'x'",
        "expected 2:",
        "  'x'",
        "  'k' = 'y'",
        "there are 2:",
        "  0:0 None = 'x'",
        "  0:1 None = 'x'",
    ]


def test_an_order_that_nobody_knows() -> None:
    with pytest.raises(ValueError, match="'keys': it is True, False or 'key'"):
        check([], [], ordered="keys")


@pytest.mark.parametrize("one", ["abc", b"abc", {"value": "a"}])
def test_one_record_is_no_list_of_them(one: Any) -> None:
    with pytest.raises(ValueError, match=r"records are a list, .*: say \["):
        all_to_json(one)
    assert len(all_to_json([one])) == 1
