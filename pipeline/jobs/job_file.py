"""The description of a streaming job: a TOML file.

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odradek.client.security.references import has_reference
from odradek.objects.location import is_object_url
from odradek.pipeline.errors import did_you_mean
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.security.clear_secrets import INSTEAD
from odradek.pipeline.spark.remote import is_remote
from odradek.pipeline.tables.partitions.partitioning import (
    WHOLE,
    Partitioning,
    read_partitioning,
)
from odradek.pipeline.tables.table import check_apart, refuse_renamed, without_end
from odradek.pipeline.tables.upserts.last_rows import KeyColumns
from odradek.pipeline.values.decoding import HEADERS, RECORD_COLUMNS, ValueFormat
from odradek.pipeline.values.inference import INFER

from .job_keys import KEYS, Key
from .job_source import Source, as_text, read_source
from .stored_tables import check_in_store

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}", re.ASCII)


_OPTIONAL = ("confluent_prefix",)
_COLUMNS = (*RECORD_COLUMNS, "timestampType", HEADERS)


@dataclass(frozen=True)
class Job:
    """A streaming job, checked."""

    name: str
    source: Source
    value: ValueFormat
    table_path: str
    table_format: str = "parquet"
    catalog: dict[str, str] = field(default_factory=dict)
    compression: str = "zstd"
    checkpoint: str = ""
    trigger_ms: int = 1000
    dead_letters: str | None = None
    dlq_max_ratio: float = 0.5
    master: str = "local[*,4]"
    conf: dict[str, str] = field(default_factory=dict)
    upserts: bool = False
    evolves: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    partitioning: Partitioning = WHOLE
    compact_every_ms: int = 0
    keep_removed_ms: int = 7 * 86_400_000
    store: dict[str, str] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The consumer group that shows the job's progress to lag tools."""
        return f"sink-{self.name}"

    @property
    def dead_letters_catalog(self) -> dict[str, str]:
        """The catalog of the dead letters' table, which has a name of its own."""
        return {name: v for name, v in self.catalog.items() if name != "table"}


def read_job_file(
    path: str | Path, command_config: str = "", usual_config: str = ""
) -> Job:
    """The job that a file describes.

    ``command_config`` is another file of client options than the one that it names,
    ``usual_config`` the one where it names none.

    Raises:
        JobError: says which key is wrong, and what was meant.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise JobError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise JobError(f"{path}: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path}: {error}") from None
    source = content.setdefault("source", {})
    if isinstance(source, dict):
        file = command_config or source.get("command_config") or usual_config
        if file:
            source["command_config"] = file
    try:
        return read_job(content, Path(path).resolve().parent)
    except JobError as error:
        raise JobError(f"{path}: {error}") from None


def read_job(content: dict[str, Any], folder: Path) -> Job:
    """The job that the parsed file describes.

    Raises:
        JobError: says which key is wrong, and what was meant.
    """
    top = {k: v for k, v in content.items() if not isinstance(v, dict)}
    sections = {k: v for k, v in content.items() if isinstance(v, dict)}
    for name in sections:
        if name not in KEYS or not name:
            raise JobError(
                f"there is no section [{name}].{did_you_mean(name, _sections())} "
                f"There are {', '.join(f'[{each}]' for each in _sections())}"
            )
    found = {
        name: _read_section(name, top if not name else sections.get(name, {}))
        for name in KEYS
    }
    return _job(found, folder)


def _sections() -> list[str]:
    return [name for name in KEYS if name]


def _read_section(section: str, given: dict[str, Any]) -> dict[str, Any]:
    keys = KEYS[section]
    for name in given:
        if name not in keys:
            raise JobError(_unknown_key(section, name))
    values = {}
    for name, key in keys.items():
        if name not in given:
            if key.default is None and name not in _OPTIONAL:
                raise JobError(f"{_where(section, name)} is missing. {key.meaning}")
            values[name] = key.default
            continue
        values[name] = _checked(_where(section, name), key, given[name])
    return values


def _checked(where: str, key: Key, value: Any) -> Any:
    kinds = key.kind if isinstance(key.kind, tuple) else (key.kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(_KIND_NAMES[kind] for kind in kinds)
        found = "" if key.is_secret else f", not {value!r}"
        raise JobError(f"{where} must be {wanted}{found}. {key.meaning}")
    if key.choices and value not in key.choices:
        raise JobError(
            f"{where}: there is no {value!r}.{did_you_mean(str(value), key.choices)} "
            f"There are {', '.join(key.choices)}"
        )
    return value


_KIND_NAMES: dict[type, str] = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _where(section: str, name: str) -> str:
    return f"[{section}] {name}" if section else name


def _unknown_key(section: str, name: str) -> str:
    there = _title(section)
    for other, keys in KEYS.items():
        if name in keys and other != section:
            return f"{there} has no key {name}; it belongs to {_title(other)}"
    meant = did_you_mean(name, KEYS[section])
    hint = meant or f" There are {', '.join(KEYS[section])}"
    return f"{there} has no key {name}.{hint}"


def _title(section: str) -> str:
    return f"[{section}]" if section else "the top of the file"


def _job(found: dict[str, dict[str, Any]], folder: Path) -> Job:
    top, table, dead = found[""], found["table"], found["dead_letters"]
    if not _NAME.fullmatch(top["name"]):
        raise JobError(f"name {top['name']!r}: letters, digits, dots, dashes and _")

    def path(text: str) -> str:
        is_url = ":" in text.split("/")[0]
        return text if is_url else str(folder / Path(text).expanduser())

    table_path = without_end(path(table["path"]))
    if is_object_url(table_path):
        check_in_store(top, table)
    source = read_source(found["source"], path)
    columns, config = table["columns"], source.command_config
    value = _value(found["value"], columns, config, path)
    dead_path = path(dead["path"]) if dead["path"] else f"{table_path}-dead-letters"
    if dead["enabled"]:
        check_apart(table_path, dead_path)
    ratio = float(dead["dlq_max_ratio"])
    if not 0 <= ratio <= 1:
        raise JobError("[dead_letters] dlq_max_ratio must be from 0 to 1")
    master = found["spark"]["master"]
    if master and is_remote(master):
        raise JobError(
            f"[spark] master = {master!r}: a sink commits in the process that runs it,"
            " and Spark Connect would run that elsewhere; give it spark://..., yarn,"
            " k8s://... or local[4]"
        )
    return Job(
        name=top["name"],
        source=source,
        value=value,
        table_path=table_path,
        table_format=table["format"],
        catalog={name: str(text) for name, text in table["catalog"].items()},
        compression=table["compression"],
        checkpoint=path(top["checkpoint"] or f"{table_path}-checkpoint"),
        trigger_ms=duration_ms("trigger", top["trigger"]),
        dead_letters=dead_path if dead["enabled"] else None,
        dlq_max_ratio=ratio,
        master=master,
        conf={name: as_text(value) for name, value in found["spark"]["conf"].items()},
        upserts=_upserts(table),
        evolves=table["evolve"],
        renamed=_renamed(table),
        partitioning=read_partitioning(
            "[table] partition_by", table["partition_by"], table["format"]
        ),
        compact_every_ms=_every(table["compact_every"]),
        keep_removed_ms=duration_ms("[table] keep_removed", table["keep_removed"]),
        store={name: str(text) for name, text in table["store"].items()},
    )


def _upserts(table: dict[str, Any]) -> bool:
    if table["mode"] != "upsert":
        return False
    if table["format"] == "parquet":
        raise JobError(
            '[table] mode = "upsert" is for format = "delta" and "iceberg": to a'
            " Parquet table rows are only added"
        )
    if missing := [name for name in KeyColumns._fields if name not in table["columns"]]:
        raise JobError(
            f'[table] columns: mode = "upsert" needs {", ".join(missing)}, which say'
            " which row is the last of a key"
        )
    return True


def _renamed(table: dict[str, Any]) -> dict[str, str]:
    renamed: dict[str, Any] = table["renamed"]
    if renamed and not table["evolve"]:
        raise JobError("[table] renamed needs evolve = true, too")
    if table["format"] != "iceberg":
        refuse_renamed(table["format"].capitalize(), renamed)
    own = {f"_{name}" for name in _COLUMNS}
    for old, new in renamed.items():
        if not isinstance(new, str) or not new or old == new:
            raise JobError(f'[table] renamed: {old} = {new!r}; write {old} = "new"')
        if {old, new} & {*own}:
            raise JobError(
                f"[table] renamed: {old}: columns of the record keep their names"
            )
    if len(set(renamed.values())) < len(renamed):
        raise JobError("[table] renamed gives two columns the same name")
    return renamed


def _every(text: str) -> int:
    return duration_ms("[table] compact_every", text) if text else 0


def _value(
    given: dict[str, Any], columns: list[Any], config: str, path: Any
) -> ValueFormat:
    for name in columns:
        if name not in _COLUMNS:
            raise JobError(
                f"[table] columns: records have no {name!r}."
                f"{did_you_mean(str(name), _COLUMNS)} They have {', '.join(_COLUMNS)}"
            )
    prefix = given["confluent_prefix"]
    user, file = given["registry_user"], given["registry_config"]
    if user and not has_reference(user):
        raise JobError(
            "[value] registry_user: a secret does not belong in a job file; "
            f"{INSTEAD} (registry_config)"
        )
    schema_file = path(given["schema_file"]) if given["schema_file"] else ""
    return ValueFormat(
        format=given["format"],
        schema=_columns(given, schema_file),
        schema_file=schema_file,
        message=given["message"],
        subject=given["subject"],
        registry=given["registry"],
        registry_user=user,
        registry_config=path(file) if file else config,
        has_prefix=bool(given["registry"]) if prefix is None else prefix,
        columns=tuple(columns),
    )


def _columns(given: dict[str, Any], schema_file: str) -> str:
    """Of JSON values: those in the file, or how they are found."""
    schema: str = given["schema"]
    if given["format"] != "json":
        return schema
    if schema == INFER:
        if schema_file:
            return schema
        raise JobError(
            '[value] schema = "infer" needs schema_file, where the columns that are'
            " found are kept"
        )
    if not schema_file:
        return schema
    if schema:
        raise JobError("[value] has schema and schema_file; leave one of them out")
    try:
        return Path(schema_file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise JobError(
            f"[value] schema_file: {schema_file}: {reason}; it has columns like id"
            ' BIGINT, name STRING. schema = "infer" makes it of the records'
        ) from None


def duration_ms(where: str, text: str) -> int:
    """A duration like ``500ms``, ``10s`` or ``7d``, in ms.

    Raises:
        JobError: it is none.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise JobError(
            f"{where}: {text!r} is not a time; write it like 500ms, 10s or 7d"
        )
    return int(float(found[1]) * _MS[found[2]])
