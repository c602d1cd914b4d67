"""The keys of a job file: of each its type, its default and its meaning."""

from __future__ import annotations

from typing import Any, NamedTuple

from odradek.pipeline.tables.table import FORMATS as TABLE_FORMATS
from odradek.pipeline.values.decoding import FORMATS as VALUE_FORMATS
from odradek.pipeline.values.decoding import RECORD_COLUMNS


class Key(NamedTuple):
    """A key of the file: its type, its default (None: must be given), its meaning."""

    kind: type | tuple[type, ...]
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    is_secret: bool = False


KEYS: dict[str, dict[str, Key]] = {
    "": {
        "name": Key(str, None, "The job's name; the table's commits carry it."),
        "checkpoint": Key(str, "", "Spark's folder; beside the table by default."),
        "trigger": Key(str, "1s", "How often a micro-batch begins: 500ms, 10s, 1m."),
    },
    "source": {
        "bootstrap_servers": Key(
            str, "", "Brokers, with commas; else command_config's, or 127.0.0.1:9092."
        ),
        "command_config": Key(
            str, "", "A file of client options for TLS and SASL; see docs/security.md."
        ),
        "topics": Key(list, [], "The topics to read."),
        "topic_pattern": Key(str, "", "Or a pattern that their names match."),
        "starting_offsets": Key(
            (str, dict),
            "earliest",
            "Where a new job begins: earliest, latest, a time like"
            " 2026-01-31T12:00:00Z, or a table of offsets.",
        ),
        "max_offsets_per_trigger": Key(int, 2_000_000, "Most offsets a micro-batch."),
        "small_batch_records": Key(
            int, 10_000, "Up to so many offsets the driver writes itself; 0: never."
        ),
        "isolation_level": Key(
            str,
            "read_uncommitted",
            "Whether records of open and aborted transactions are left out.",
            ("read_uncommitted", "read_committed"),
        ),
        "path": Key(str, "", "A broker's data directory, to read segments directly."),
        "format": Key(str, "odradek", "Spark's data source.", ("odradek", "kafka")),
        "options": Key(dict, {}, "More options of the source, as they are."),
    },
    "value": {
        "format": Key(str, "none", "How values are written.", VALUE_FORMATS),
        "schema": Key(
            str, "", "Columns of JSON values: id BIGINT, name STRING; or infer."
        ),
        "schema_file": Key(
            str, "", "Columns of JSON, an .avsc file, or a descriptor set of protoc."
        ),
        "message": Key(str, "", "The Protobuf message, with its package."),
        "registry": Key(str, "", "The URL of a schema registry."),
        "subject": Key(str, "", "Whose newest schema there has the columns."),
        "registry_user": Key(
            str, "", "user:password for the registry: ${env:NAME}.", is_secret=True
        ),
        "registry_config": Key(
            str, "", "A file with its client options; [source] command_config's else."
        ),
        "confluent_prefix": Key(
            bool, None, "Whether values begin with a schema id; true with a registry."
        ),
    },
    "table": {
        "path": Key(str, None, "The table's folder."),
        "format": Key(str, "parquet", "The table's format.", TABLE_FORMATS),
        "columns": Key(
            list,
            list(RECORD_COLUMNS),
            "Columns of the record to keep: topic, partition, offset, timestamp, key,"
            " timestampType, headers.",
        ),
        "compression": Key(
            str, "zstd", "Of the files.", ("zstd", "snappy", "lz4", "gzip", "none")
        ),
        "catalog": Key(dict, {}, "Properties of an Iceberg catalog (pyiceberg's)."),
        "store": Key(
            dict, {}, "Of a table in a store: endpoint, region, profile, account."
        ),
        "mode": Key(
            str,
            "append",
            "upsert: the last row of each key; a record without a value deletes.",
            ("append", "upsert"),
        ),
        "renamed": Key(
            dict, {}, 'With evolve: columns with another name, { old = "new" }.'
        ),
        "partition_by": Key(
            list, [], "Columns, or days(timestamp), that divide the table."
        ),
        "compact_every": Key(
            str, "", "Compact between two batches, so often: 1h, 1d; empty: never."
        ),
        "keep_removed": Key(
            str, "7d", "With it: how long files stay that the table names no more."
        ),
        "evolve": Key(
            bool, False, "Let the table follow the job's columns where they change."
        ),
    },
    "dead_letters": {
        "enabled": Key(bool, True, "Keep undecodable records; false stops the job."),
        "path": Key(str, "", "Their table's folder; beside the table by default."),
        "dlq_max_ratio": Key(
            (int, float), 0.5, "Stop when more of the last records than this are bad."
        ),
    },
    "spark": {
        "master": Key(str, "local[*,4]", "Where Spark runs."),
        "conf": Key(dict, {}, "Options of Spark."),
    },
}
