"""Runs of pytest inside a test, with the plugin as its users have it."""

import pytest

# Nothing inside uses it, and to load it costs more than all the rest.
WITHOUT_HYPOTHESIS = ("-p", "no:hypothesispytest")
INI = """
[pytest]
asyncio_mode = strict
asyncio_default_fixture_loop_scope = function
"""


def run_inside(
    pytester: pytest.Pytester, source: str, *arguments: str, conftest: str = ""
) -> pytest.RunResult:
    """In this process."""
    _write(pytester, source, conftest)
    return pytester.runpytest_inprocess(*arguments)


def run_beside(
    pytester: pytest.Pytester, source: str, *arguments: str, conftest: str = ""
) -> pytest.RunResult:
    """In a process of its own, which may have more."""
    _write(pytester, source, conftest)
    return pytester.runpytest_subprocess(*WITHOUT_HYPOTHESIS, *arguments)


def _write(pytester: pytest.Pytester, source: str, conftest: str) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(test_inner=source)
    if conftest:
        pytester.makeconftest(conftest)
