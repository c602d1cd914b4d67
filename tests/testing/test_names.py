"""T310: whatever a test is called, its topics have names that Kafka takes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from odradek.testing.names import Names

VALID = re.compile(r"[a-zA-Z0-9._-]{1,249}")
HARD = ["test_x[a/b-ü]", "a test with spaces", "n" * 400, "", "..", "日本", "__x"]


def test_t310_a_name_is_valid_and_says_whose_it_is() -> None:
    names = Names("gw3")
    for test in HARD:
        assert VALID.fullmatch(names.next(test)), test
    assert names.next("test_orders[a/b]") == "test_orders-a-b-gw3-1"
    assert names.start("test_orders[a/b]") == "test_orders-a-b-gw3-"


@given(st.lists(st.one_of(st.text(), st.sampled_from(HARD))))
def test_t310_no_two_names_are_the_same(tests: list[str]) -> None:
    names = Names("main")
    found = [names.next(test) for test in [*tests, *tests]]
    assert all(VALID.fullmatch(name) for name in found)
    assert len({name.lower() for name in found}) == len(found)
    # Kafka refuses a topic if one has the same name but for "." in place of "_".
    assert len({name.replace(".", "_") for name in found}) == len(found)


def test_names_of_workers_are_apart() -> None:
    first, second = Names("gw0"), Names("gw1")
    assert {first.next("a") for _ in range(9)}.isdisjoint(
        second.next("a") for _ in range(9)
    )


def test_a_line_that_names_other_workers_only_concerns_others() -> None:
    names = Names("gw1")
    assert names.concerns_others("topics: topic test_a-gw0-1 is deleted")
    assert names.concerns_others("topics: topic test_a-gw11-2 is deleted")
    assert not names.concerns_others("topics: topic test_a-gw1-1 is deleted")
    assert not names.concerns_others("test_a-gw1-1 and test_a-gw0-1")
    assert not names.concerns_others("an unexpected error")
