"""Topics from files and files from topics: loaded, dumped, compared.

A file of records has one on each line, as ``odradek consume --json`` writes it. Rows
of other files become records by their columns: those that are named, else ``key``,
``value`` and ``timestamp``; without a column for the value the row is, as JSON.

A golden file has what a topic should hold: keys and values, those that are JSON
unfolded, headers, and where there are several the partition; no offsets, and times only
if that is asked for.
"""

from __future__ import annotations

import base64
import copy
import difflib
import json
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Refused
from .tables import BadFile, did_you_mean, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .tables import Row
    from .topic import Topic

    Json = dict[str, Any]

# Set by ``pytest --odradek-update``; not empty: golden files are written anew.
UPDATE = "ODRADEK_UPDATE"
TIMEOUT_S = 10.0
MASKED = "<masked>"
_RECORD_FIELDS = frozenset(
    ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
)
_REQUEST_SIZE = 1 << 20
_DIFF_LINES_MAX = 60


def load(
    topic: Topic,
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    value: str | None = None,
    timestamp: str | None = None,
) -> int:
    """Write the rows of a file to a topic; how many there were. See `Topic.load`."""
    columns = {"key": key, "value": value, "timestamp": timestamp}
    rows = read_rows(Path(path))
    _append(topic, [_record(row, columns) for row in rows])
    return len(rows)


def dump(topic: Topic, path: str | os.PathLike[str]) -> int:
    """Write what a topic holds to a file; how many records. See `Topic.dump`."""
    target = Path(path)
    if target.suffix.lower() not in (".jsonl", ".ndjson"):
        raise BadFile(f"{target} would be JSON lines: call it .jsonl")
    records = _read(topic)
    names = ("partition", "offset", "timestamp", "key", "value", "headers")
    _write(target, ({name: each[name] for name in names} for each in records))
    return len(records)


def assert_golden(
    topic: Topic,
    path: str | os.PathLike[str],
    mask: Sequence[str] = (),
    *,
    timestamps: bool = False,
    timeout: float = TIMEOUT_S,
) -> None:
    """See that a topic holds what a golden file says; waits until there is as much.

    ``mask``: fields that differ from run to run, like ``value.id``, ``headers.trace``;
    of a list, those of its items. With ``pytest --odradek-update`` the file is written.

    Raises:
        AssertionError: it does not, or there is no such file.
        ValueError: no record has a field that is masked.
    """
    target = Path(path)
    is_update = bool(os.environ.get(UPDATE))
    rows = read_rows(target) if target.exists() and not is_update else []
    names = _names(topic.partitions > 1, timestamps)
    wanted = [_golden(row.fields, names) for row in rows]
    found = [_golden(each, names) for each in _read(topic, len(rows), timeout)]
    _check_mask(mask, wanted + found)
    masked = [_masked(each, mask) for each in found]
    if is_update:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, masked)
        return
    if not target.exists():
        raise AssertionError(f"there is no {target}; --odradek-update writes it")
    expected = [_masked(each, mask) for each in wanted]
    if masked != expected:
        raise AssertionError(
            f"{topic} is not what {target} says (--odradek-update writes it anew):\n"
            + _difference(expected, masked, str(target), str(topic))
        )


# What the broker is asked


def _append(topic: Topic, records: Iterable[Json]) -> None:
    some: list[Json] = []
    size = 0
    for record in records:
        some.append(record)
        size += len(json.dumps(record))
        if size > _REQUEST_SIZE:
            topic.broker.ask("records.append", topic=topic, records=some)
            some, size = [], 0
    if some:
        topic.broker.ask("records.append", topic=topic, records=some)


def _read(topic: Topic, count: int = 0, timeout: float = 0) -> list[Json]:
    """What a committed reader sees, once there are ``count`` or the time is over."""
    fields = {"topic": topic, "count": count, "timeout_ms": round(timeout * 1000)}
    if count:
        try:
            topic.broker.ask("wait", until="records", **fields)
        except Refused as refused:
            if refused.word != "timeout":
                raise
    return topic.broker.ask("records.read", topic=topic)


# Rows to records


def _record(row: Row, columns: dict[str, str | None]) -> Json:
    if not any(columns.values()) and row.fields.keys() <= _RECORD_FIELDS:
        return _as_written(row)
    found = {
        name: row.fields.get(name) if column is None else row.value(column)
        for name, column in columns.items()
    }
    is_whole = columns["value"] is None and "value" not in row.fields
    record = {
        "key": _sent(found["key"]),
        "value": _json(row.fields) if is_whole else _sent(found["value"]),
    }
    if found["timestamp"] is not None:
        record["timestamp"] = _milliseconds(row.place, found["timestamp"])
    return record


def _as_written(row: Row) -> Json:
    """A record as `dump` has written it, or somebody who knows its fields."""
    given = {name: each for name, each in row.fields.items() if each is not None}
    record: Json = {name: _sent(given.get(name)) for name in ("key", "value")}
    if "timestamp" in given:
        record["timestamp"] = _milliseconds(row.place, given["timestamp"])
    if "partition" in given:
        record["partition"] = _whole(row.place, given["partition"])
    if "headers" in given:
        record["headers"] = given["headers"]
    return record


def _whole(place: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise BadFile(f"{place}: partition is {value!r}, and no number") from None


def _sent(value: Any) -> Any:
    """A key or value as the broker reads it: text as it is, others as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return value
    return str(value) if isinstance(value, date) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _milliseconds(place: str, value: Any) -> int:
    """A moment: milliseconds since 1970, or ISO 8601, which is UTC unless it says."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value)
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        raise BadFile(
            f"{place}: {value!r} is not a time; write milliseconds or ISO 8601"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


# Golden files


def _names(has_partitions: bool, timestamps: bool) -> list[str]:
    """The fields that a golden record has."""
    given = {"partition": has_partitions, "timestamp": timestamps}
    return [*(name for name, is_there in given.items() if is_there), "key", "value"]


def _golden(item: Json, names: Iterable[str]) -> Json:
    record = {name: _unfolded(item.get(name)) for name in names}
    if item.get("headers"):
        record["headers"] = item["headers"]
    return record


def _unfolded(value: Any) -> Any:
    """A text that is a JSON object or list, as that; others as they are."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _masked(record: Json, mask: Iterable[str]) -> Json:
    record = copy.deepcopy(record)
    for path in mask:
        _hide(record, path.split("."))
    return record


def _check_mask(mask: Iterable[str], records: Sequence[Json]) -> None:
    """See that everything that is masked is somewhere."""
    names = {name for each in records for name in _paths(each)}
    for path in mask:
        if records and path not in names:
            hint = did_you_mean(path, sorted(names))
            raise ValueError(f"no record has {path!r}, which is masked; {hint}")


def _hide(place: Any, names: Sequence[str]) -> None:
    """Mask a field, in all items of a list; of headers, those of a name."""
    name, rest = names[0], names[1:]
    for item in place if isinstance(place, list) else [place]:
        if isinstance(item, dict) and name in item:
            if rest:
                _hide(item[name], rest)
            else:
                item[name] = MASKED
        elif isinstance(item, list) and item[:1] == [name] and not rest:
            item[1:] = [MASKED]


def _paths(place: Any, start: str = "") -> Iterator[str]:
    items = place if isinstance(place, list) else [place]
    for item in items:
        if isinstance(item, dict):
            for name, value in item.items():
                yield f"{start}{name}"
                yield from _paths(value, f"{start}{name}.")
        elif start == "headers.":
            yield f"{start}{item[0]}"


def _difference(
    expected: Sequence[Json], found: Sequence[Json], name: str, topic: str
) -> str:
    lines = list(
        difflib.unified_diff(
            [_json(each) for each in expected],
            [_json(each) for each in found],
            *(name, topic),
            n=1,
            lineterm="",
        )
    )
    more = len(lines) - _DIFF_LINES_MAX
    if more > 0:
        lines[_DIFF_LINES_MAX:] = [f"… and {more} lines more"]
    return "\n".join(lines)


def _write(path: Path, records: Iterable[Json]) -> None:
    text = "".join(f"{_json(each)}\n" for each in records)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
