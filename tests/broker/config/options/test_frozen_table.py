from collections.abc import Mapping
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from odradek.broker.config.options.frozen_table import frozen_table
from odradek.broker.config.options.option import option


@frozen_table
class Table:
    """A table of four."""

    count: int = option(3, "count", "How many.")
    name: str | None = option(None, "name", "Which.")
    is_on: bool = False
    more: Mapping[str, str] = field(default_factory=dict)


def test_what_is_not_given_is_its_default() -> None:
    table = Table(count=5)
    assert (table.count, table.name, table.is_on, table.more) == (5, None, False, {})
    assert Table().count == 3


def test_each_has_its_own_of_what_a_factory_makes() -> None:
    assert Table().more is not Table().more


def test_a_changed_one_has_the_rest_of_the_first() -> None:
    first = Table(count=5, more={"a": "b"})
    changed = replace(first, name="x")
    assert (changed.count, changed.name, changed.more) == (5, "x", {"a": "b"})
    assert first.name is None


def test_its_fields_can_be_walked() -> None:
    (count, *_) = fields(Table)
    assert count.metadata["option"].meaning == "How many."


def test_nothing_can_be_set() -> None:
    with pytest.raises(FrozenInstanceError):
        Table().count = 4  # type: ignore[misc]


def test_what_it_does_not_have_is_refused() -> None:
    given: dict[str, Any] = {"counts": 1}
    with pytest.raises(TypeError, match="Table has no counts"):
        Table(**given)


def test_a_field_without_a_default_is_refused() -> None:
    with pytest.raises(AssertionError, match="lacking"):

        @frozen_table
        class Lacking:
            lacking: int
