"""What the report of a failed test says of the brokers that it used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from odradek.testing.errors import BrokerError, Refused

from .traces import Traces, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from odradek.testing import Broker

    from .used import Used

LOG_LINES_MAX = 100
RECORDS_MAX = 20
TOPICS_MAX = 10
_LINE_LENGTH_MAX = 500

Section = tuple[str, str]


def sections(brokers: Iterable[Broker], used: Used) -> list[Section]:
    """Titles and texts; nothing that has nothing to say."""
    found: list[Section] = []
    for broker in brokers:
        of_broker = [("log", _log(broker, used)), *_asked_sections(broker, used)]
        found += [(f"odradek: {title}", text) for title, text in of_broker if text]
    return found


def _log(broker: Broker, used: Used) -> str:
    lines = used.log(broker).splitlines()
    left_out = len(lines) - LOG_LINES_MAX
    if left_out > 0:
        lines = [f"({left_out} lines before)", *lines[left_out:]]
    return "\n".join(map(_cut, lines))


def _asked_sections(broker: Broker, used: Used) -> Iterator[Section]:
    """What it takes a broker that answers to know; the first silence is the last."""
    try:
        for topic in used.topics(broker)[:TOPICS_MAX]:
            yield f"last records of {topic}", _records(broker, topic)
        traces = Traces(broker, used)
        yield "groups", _lines(traces.groups(), _group)
        yield "open transactions", _lines(traces.open_transactions(), _json)
        yield "rules that nothing met", _lines(traces.unfired_rules(), _json)
    except BrokerError as error:
        yield "no more to be told", str(error)


def _records(broker: Broker, topic: str) -> str:
    try:
        found = asked(broker, "records.read", topic=topic, last=RECORDS_MAX)
    except Refused:
        return ""  # the test has deleted it
    shown = [
        {name: value for name, value in record.items() if name != "topic"}
        for record in found
    ]
    return _lines(shown, _json)


def _group(group: dict[str, Any]) -> str:
    """Its state, its members, and how far it is behind in each partition."""
    members = ", ".join(member["client"] for member in group["members"]) or "none"
    lines = [f"{group['group']}: {group['state']}, members: {members}"]
    lines += [
        f"  {place['topic']}-{place['partition']}: "
        f"committed {place['offset']}, lag {place['lag']}"
        for place in group["offsets"]
    ]
    return "\n".join(lines)


def _lines(
    items: Iterable[dict[str, Any]], show: Callable[[dict[str, Any]], str]
) -> str:
    return "\n".join(_cut(show(item)) for item in items)


def _json(item: dict[str, Any]) -> str:
    shown = {name: value for name, value in item.items() if name != "kind"}
    return json.dumps(shown, ensure_ascii=False)


def _cut(line: str) -> str:
    """A record may be as long as it likes, a report not."""
    return line if len(line) <= _LINE_LENGTH_MAX else f"{line[:_LINE_LENGTH_MAX]}..."
