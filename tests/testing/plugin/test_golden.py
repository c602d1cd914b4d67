"""``--odradek-update`` reaches whoever compares."""

import os

import pytest

from odradek.testing import golden
from odradek.testing.plugin.golden import UPDATE
from tests.testing.inner import WITHOUT_HYPOTHESIS

pytest_plugins = ("pytester",)

TEST = """
import os
def test_it():
    assert os.environ.get("ODRADEK_UPDATE") == {expected!r}
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
@pytest.mark.parametrize("is_update", [True, False])
def test_the_option_is_known_while_the_run_lasts(
    pytester: pytest.Pytester, workers: tuple[str, ...], is_update: bool
) -> None:
    pytester.makepyfile(TEST.format(expected="1" if is_update else None))
    options = ("--odradek-update",) if is_update else ()
    result = pytester.runpytest(
        *workers, *options, *WITHOUT_HYPOTHESIS, "-p", "no:asyncio"
    )
    result.assert_outcomes(passed=1)
    assert UPDATE not in os.environ


def test_both_sides_call_it_the_same() -> None:
    assert golden.UPDATE == UPDATE
