"""Crash tests make much garbage: that of earlier modules is collected before them."""

import pytest

from tests.collected import collect_garbage


@pytest.fixture(scope="module", autouse=True)
def collected_before() -> None:
    collect_garbage()
