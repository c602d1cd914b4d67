"""Checksums of the catalogue's rows: SQLite does not notice a flipped bit in a value.

Triggers give every row its checksum when it is written; they are compared when the
catalogue is opened. The schema, whose text is not in a table of ours, has one too.
"""

from __future__ import annotations

import sqlite3
from zlib import crc32

_NAME = "row_checksum"
_Tables = dict[str, tuple[int, tuple[str, ...]]]
# The columns of each table, of which the first ones are its key.
_FIRST_TABLES: _Tables = {
    "facts": (1, ("name", "value")),
    "topics": (
        1,
        ("topic_id", "name", "partition_count", "leader_epoch", "is_deleting"),
    ),
    "topic_options": (2, ("topic_id", "name", "value")),
    "partitions": (
        2,
        ("topic_id", "partition", "leader_epoch", "log_dir", "written"),
    ),
}
_RESOURCE_TABLES: _Tables = {
    "resource_options": (3, ("kind", "resource", "name", "value")),
}
_ACL_COLUMNS = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission",
)
_ACL_TABLES: _Tables = {"acls": (len(_ACL_COLUMNS), _ACL_COLUMNS)}
_TOKEN_TABLES: _Tables = {
    "tokens": (
        1,
        (
            "token_id",
            "owner",
            "requester",
            "renewers",
            "issue_ms",
            "expiry_ms",
            "max_ms",
        ),
    ),
}
_SCHEMA_CHECKSUM = f"""
    SELECT {_NAME}(group_concat(sql, ';'))
    FROM (SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name)
"""
FIRST_VERSION = 2
_TABLES_SINCE = {
    FIRST_VERSION: _FIRST_TABLES,
    3: _RESOURCE_TABLES,
    4: _ACL_TABLES,
    5: _TOKEN_TABLES,
}


def register(database: sqlite3.Connection) -> None:
    """Let ``database`` compute checksums. To be called before anything is written."""
    database.create_function(_NAME, -1, _checksum, deterministic=True)


def add_checksums() -> str:
    """The script that gives all tables checksums, those of the rows they have too."""
    counter = "INSERT INTO facts (name, value) VALUES ('change_count', 0);"
    return f"{_checksums_of(_FIRST_TABLES)}\n{counter}"


def add_resource_checksums() -> str:
    """The same for what came with version 3."""
    return _checksums_of(_RESOURCE_TABLES)


def add_acl_checksums() -> str:
    """The same for what came with version 4."""
    return _checksums_of(_ACL_TABLES)


def add_token_checksums() -> str:
    """The same for what came with version 5."""
    return _checksums_of(_TOKEN_TABLES)


def _checksums_of(tables: _Tables) -> str:
    script = []
    for table, (key_count, columns) in tables.items():
        new = ", ".join(f"new.{column}" for column in columns)
        key = " AND ".join(f"{each} = new.{each}" for each in columns[:key_count])
        act = f"UPDATE {table} SET checksum = {_NAME}({new}) WHERE {key};"
        names = ", ".join(columns)
        script += [
            f"ALTER TABLE {table} ADD COLUMN checksum INTEGER;",
            f"UPDATE {table} SET checksum = {_NAME}({names});",
            f"CREATE TRIGGER {table}_inserted AFTER INSERT ON {table} BEGIN {act} END;",
            f"CREATE TRIGGER {table}_updated AFTER UPDATE OF {names} ON {table} "
            f"BEGIN {act} END;",
        ]
    return "\n".join(script)


def seal_schema(version: int) -> str:
    """The end of a script that changes the schema: what it is now is right."""
    if version < FIRST_VERSION:
        return ""
    return (
        f"REPLACE INTO facts (name, value) VALUES ('schema_version', {version});"
        f"REPLACE INTO facts (name, value) VALUES "
        f"('schema_checksum', ({_SCHEMA_CHECKSUM}));"
    )


def check_rows(database: sqlite3.Connection) -> None:
    """See that every row, and the schema, are as they were written.

    Raises:
        sqlite3.DatabaseError: something is not, or cannot be read.
    """
    register(database)
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        for table, (_, columns) in _tables_of(version).items():
            (count,) = database.execute(
                f"SELECT count(*) FROM {table} "
                f"WHERE checksum IS NOT {_NAME}({', '.join(columns)})"
            ).fetchone()
            if count:
                raise sqlite3.DatabaseError(f"{count} rows of {table} are damaged")
        facts = dict(database.execute("SELECT name, value FROM facts"))
        (schema,) = database.execute(_SCHEMA_CHECKSUM).fetchone()
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        raise sqlite3.DatabaseError(str(error)) from error
    if schema != facts.get("schema_checksum"):
        raise sqlite3.DatabaseError("the schema is damaged")


def _tables_of(version: int) -> _Tables:
    """The tables that a catalogue of this version has."""
    tables: _Tables = {}
    for first, more in _TABLES_SINCE.items():
        if first <= version:
            tables |= more
    return tables


def _checksum(*values: object) -> int:
    return crc32(repr(values).encode())
