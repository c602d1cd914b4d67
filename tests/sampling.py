"""Of many dear tests: which run always, and which in the long run alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], *always: Any) -> list[Any]:
    """The values as parameters of a test; those that are not in ``always`` are long."""
    return sampled_rows(zip(values), *zip(always))


def sampled_rows(
    values: Iterable[tuple[Any, ...]], *always: tuple[Any, ...]
) -> list[Any]:
    """The same of values for several parameters at once."""
    return [
        pytest.param(*value, marks=[] if value in always else [pytest.mark.long])
        for value in values
    ]
