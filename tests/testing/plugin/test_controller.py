"""What workers are told, before anything has been made."""

import os
from pathlib import Path

import pytest

from odradek.testing.plugin.controller import Controller

pytest_plugins = ("pytester",)


def test_all_workers_are_told_the_same_and_nothing_is_made(
    pytester: pytest.Pytester,
) -> None:
    config = pytester.parseconfig()
    told = Controller.of(config).worker_input()
    assert Controller.of(config).worker_input() == told
    assert told["home"] == os.getpid()
    assert not Path(told["directory"]).exists()
    Controller.of(config).pytest_unconfigure()


@pytest.mark.parametrize("keep", [True, False])
def test_in_the_end_what_is_not_kept_is_removed(keep: bool) -> None:
    controller = Controller(keep=keep)
    directory = Path(controller.worker_input()["directory"])
    directory.mkdir()
    controller.pytest_unconfigure()
    assert directory.exists() == keep
    if keep:
        directory.rmdir()
