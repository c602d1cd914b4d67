import io
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.broker.runtime.logs import (
    JSON,
    configure_logs,
    counted,
    event_line,
    place_of,
)


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
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING some: it happened\n"
    assert re.fullmatch(form, lines.getvalue())


@pytest.mark.parametrize(
    ("logger", "place"),
    [
        ("odradek.broker.coordinator.group.classic.rebalance", "groups"),
        ("odradek.broker.coordinator.transaction.end", "transactions"),
        ("odradek.broker.coordinator.runtime", "coordinators"),
        ("odradek.broker.handlers.topics.metadata", "topics"),
        ("odradek.broker.runtime.memory.limits", "clients"),
        ("odradek.broker.replica.logs.loaded_logs", "logs"),
        ("odradek.storage.directory.log_directory", "logs"),
        ("odradek.broker.node.server", "node"),
        ("odradek.audit", "audit"),
        ("odradek", "odradek"),
        ("asyncio", "asyncio"),
    ],
)
def test_people_are_told_the_part_and_no_module(logger: str, place: str) -> None:
    assert place_of(logger) == place


def test_one_is_no_plural() -> None:
    told = [counted(count, "log") for count in (0, 1, 2)]
    assert told == ["0 logs", "1 log", "2 logs"]


def test_a_message_cannot_start_a_false_line(lines: io.StringIO) -> None:
    logging.getLogger("broker").error("client %s", "x\n2030-01-01 INFO all is well\r")
    (line,) = lines.getvalue().splitlines()
    assert "x\\n2030-01-01 INFO all is well\\r" in line


def test_a_message_cannot_steer_a_terminal(lines: io.StringIO) -> None:
    """A10, as text: the sequence that colours, a one-byte one, text backwards."""
    logging.getLogger("broker").error("%s", "ä\x1b[2J\x9b1m\u202e")
    assert lines.getvalue().endswith("ä\\x1b[2J\\x9b1m\\u202e\n")


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


def test_a_line_for_elsewhere_is_as_those_of_the_logs(
    objects: Callable[[], list[dict[str, Any]]],
) -> None:
    logging.getLogger("odradek").info("ready", extra={"port": 9092})
    elsewhere = json.loads(event_line("ready", port=9092))
    (event,) = objects()
    assert elsewhere | {"time": event["time"]} == event
    assert elsewhere["time"].endswith("Z")


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


def test_the_time_is_as_python_writes_it(lines: io.StringIO) -> None:
    """Of moments in any order; a second is put into words once."""
    handlers = logging.getLogger().handlers
    (ours,) = [x.formatter for x in handlers if getattr(x, "stream", None) is lines]
    theirs = logging.Formatter()
    assert ours is not None
    theirs.converter = time.gmtime
    theirs.default_time_format = "%Y-%m-%dT%H:%M:%S"
    theirs.default_msec_format = "%s.%03dZ"
    for created in (1e9, 1e9 + 0.9995, 1e9 + 1, 1e9 + 0.25, 0, 4e9 + 0.001):
        record = logging.makeLogRecord({})
        record.created, record.msecs = created, created % 1 * 1000
        assert ours.formatTime(record) == theirs.formatTime(record)
