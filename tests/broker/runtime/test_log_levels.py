import logging
from collections.abc import Iterator

import pytest

from odradek.broker.config.dynamic_config import Alteration, Operation
from odradek.broker.runtime.log_levels import (
    ROOT,
    check_levels,
    describe_loggers,
    level_of,
    set_levels,
)
from odradek.protocol.errors import InvalidConfig, InvalidRequest, KafkaError

NAME = "broker.test_log_levels"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)


def test_a_level_is_shown_set_and_given_back(logger: logging.Logger) -> None:
    before = level_of(NAME)
    assert before == level_of(ROOT)
    change = [Alteration(NAME, Operation.SET, "TRACE")]
    check_levels(change)
    set_levels(change)
    assert level_of(NAME) == "TRACE"
    assert logger.isEnabledFor(logging.DEBUG)
    shown = {each.name: each.value for each in describe_loggers()}
    assert shown[NAME] == "TRACE"
    assert shown[ROOT] == before
    back = [Alteration(NAME, Operation.DELETE, None)]
    check_levels(back)
    set_levels(back)
    assert level_of(NAME) == before


@pytest.mark.parametrize(
    ("alteration", "error", "complaint"),
    [
        (Alteration("nope", 0, "INFO"), InvalidConfig, "Logger nope does not exist!"),
        (Alteration(NAME, 0, "info"), InvalidConfig, "not a supported log level"),
        (Alteration(NAME, 2, "INFO"), InvalidRequest, "APPEND operation"),
        (Alteration(ROOT, 1, None), InvalidRequest, "root logger is not allowed"),
    ],
)
def test_what_cannot_be_is_refused(
    alteration: Alteration, error: type[KafkaError], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        check_levels([alteration])
