import logging
from pathlib import Path

import pytest

from odradek.storage.values.log_lines import LogLines

LOGGER = logging.getLogger("storage.test")


def test_a_line_says_of_which_log_it_is(caplog: pytest.LogCaptureFixture) -> None:
    lines = LogLines(LOGGER, Path("/data/100%d/orders-3"))
    with caplog.at_level(logging.DEBUG):
        lines.debug("one")
        lines.info("%d%% of %s", 2, "it")
        lines.warning("three")
        lines.error("four")
    assert caplog.messages == [
        "[orders-3 in /data/100%d] one",
        "[orders-3 in /data/100%d] 2% of it",
        "[orders-3 in /data/100%d] three",
        "[orders-3 in /data/100%d] four",
    ]
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR]
    found = vars(caplog.records[0])
    assert (found["partition"], found["directory"]) == ("orders-3", "/data/100%d")


def test_a_level_that_nobody_wants_costs_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        LogLines(LOGGER, Path("/data/orders-3")).info("one")
    assert not caplog.records
