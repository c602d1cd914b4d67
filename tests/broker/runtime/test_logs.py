import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.broker.runtime.logs import JSON, configure_logs


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logs("info", stream)
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)


def test_a_line_has_time_level_and_place(lines: io.StringIO) -> None:
    logging.getLogger("broker.some").warning("it %s", "happened")
    logging.getLogger("broker.some").debug("unseen")
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING broker\.some: it happened\n"
    assert re.fullmatch(form, lines.getvalue())


def test_a_message_cannot_start_a_false_line(lines: io.StringIO) -> None:
    logging.getLogger("broker").error("client %s", "x\n2030-01-01 INFO all is well\r")
    (line,) = lines.getvalue().splitlines()
    assert "x\\n2030-01-01 INFO all is well\\r" in line


def test_a_traceback_keeps_its_lines(lines: io.StringIO) -> None:
    try:
        raise ValueError("a bug")
    except ValueError:
        logging.getLogger("broker").exception("unexpected")
    assert "Traceback" in lines.getvalue()
    assert lines.getvalue().count("\n") > 3


@pytest.fixture
def objects(lines: io.StringIO) -> Callable[[], list[dict[str, Any]]]:
    configure_logs("info", lines, form=JSON)
    return lambda: [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_json_line_is_one_object(objects: Callable[[], list[dict[str, Any]]]) -> None:
    logging.getLogger("broker.some").warning("it %s\n", "happened")
    (event,) = objects()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event.pop("time"))
    assert event == {
        "level": "WARNING",
        "logger": "broker.some",
        "message": "it happened\n",
    }


def test_what_an_event_carries_is_in_its_object(
    objects: Callable[[], list[dict[str, Any]]],
) -> None:
    extra = {"client": "é\n", "topics": ["a"], "level": "not this"}
    logging.getLogger("broker").info("changed", extra=extra)
    (event,) = objects()
    assert event["client"] == "é\n"
    assert event["topics"] == ["a"]
    assert event["level"] == "INFO"


def test_a_traceback_is_in_its_object(
    objects: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        raise ValueError("a bug")
    except ValueError:
        logging.getLogger("broker").exception("unexpected")
    (event,) = objects()
    assert event["error"].endswith("ValueError: a bug")
