"""The plugin for pytest: a broker for the run, a topic for each test.

It is in every run of an environment that has odradek installed: until a test uses one
of its fixtures, this module and that of the fixtures are all that is loaded.
"""

from __future__ import annotations

from typing import Any

import pytest

from odradek.testing import runs

from .fixtures import (
    odradek,
    odradek_config,
    odradek_faults,
    odradek_group,
    odradek_own,
    odradek_topic,
    odradek_topics,
    odradek_txn_id,
)

__all__ = [
    "odradek",
    "odradek_config",
    "odradek_faults",
    "odradek_group",
    "odradek_own",
    "odradek_topic",
    "odradek_topics",
    "odradek_txn_id",
]

# Who gave the run's broker before.
_BEFORE = pytest.StashKey[runs.Find | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Each option is a setting of the configuration file as well."""
    from .golden import add_option
    from .options import add_options

    add_options(parser)
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Who asks for the run's broker without a fixture finds it as well."""

    def find() -> runs.Run:
        from .run import PluginRun

        return PluginRun.of(config)

    config.stash[_BEFORE] = runs.use(find)
    from .golden import begin

    begin(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where the run keeps its brokers."""
    from .controller import Controller

    node.workerinput["odradek"] = Controller.of(node.config).worker_input()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """There may be a run around this one."""
    runs.use(config.stash.get(_BEFORE, None))
