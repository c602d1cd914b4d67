"""``odradek pipeline export``: a topic, or a part of it, becomes a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import (
    STORE_EXAMPLE,
    check_no_secret,
    cluster_arguments,
    count,
    find_cluster,
    spark_conf,
    spark_options,
    store_argument,
    told,
    whole_path,
)

if TYPE_CHECKING:
    from odradek.pipeline.jobs.export import Export
    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.values.decoding import ValueFormat

_COMMAND = "pipeline export"
_EXAMPLES = (
    "odradek pipeline export orders ./orders",
    "odradek pipeline export orders:0,2 ./january --from 2026-01-01T00:00:00Z"
    " --to 2026-02-01T00:00:00Z",
    "odradek pipeline export orders ./typed --table-format delta --value-format json"
    " --schema 'id BIGINT, name STRING'",
    "odradek pipeline export orders ./orders --data-dir ./data",
    "odradek pipeline export orders s3://lake/orders --store region=eu-west-1",
)
_SEGMENTS_HINT = (
    "; the broker of --data-dir says how far it goes (--bootstrap-server). Only a"
    " directory that was stopped cleanly needs none"
)

# Of the options of the source, what TOPIC, --from, --to and --columns mean, and what
# rows of records forbid; small, as Spark has them.
_DECIDED = ("assign", "subscribe", "starting", "ending", "path", "mode", "pushdown")
_HEADERS = "includeheaders"


def command(arguments: list[str]) -> int:
    """Write a topic, or a part of it, to a table."""
    parser = _parser()
    options = parser.parse(arguments)
    _find_brokers(parser, options)
    try:
        conf = spark_conf(options)
        catalog = spark_options(options.catalog, "--catalog", "type=sql")
        more = spark_options(options.option, "--option", "onCorrupt=skip")
        options.store = spark_options(options.store, "--store", STORE_EXAMPLE)
        check_no_secret(more)
        _check_not_decided(more)
    except ValueError as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    return _run(options, conf, catalog, more)


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Write a topic, or a part of it, to a Parquet, Delta or Iceberg table, in one"
        " commit. Exit code: 0 done, 1 failed, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "topic", type=_topic, metavar="TOPIC", help="like orders, or orders:0,2"
    )
    parser.add_argument(
        "table",
        metavar="PATH",
        help="the folder of the table to make, or s3://BUCKET/FOLDER (gs://, az://)",
    )
    cluster_arguments(parser)
    _source_arguments(parser)
    _value_arguments(parser)
    _table_arguments(parser)
    json_argument(parser, "one JSON object")
    return parser


def _source_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--from",
        dest="starting",
        default="earliest",
        metavar="WHERE",
        help="earliest, an offset, or a time like 2026-01-31T12:00:00Z",
    )
    parser.add_argument(
        "--to",
        dest="ending",
        default="latest",
        metavar="WHERE",
        help="latest, an offset or a time, which are not included",
    )
    parser.add_argument(
        "--read-committed",
        action="store_true",
        help="leave out records of open and aborted transactions",
    )
    parser.add_argument(
        "--data-dir",
        metavar="PATH",
        help="read the segments of the broker's data directory, not over the wire;"
        " one that was stopped cleanly needs no broker",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the source, like onCorrupt=skip; may be given often",
    )
    parser.add_argument(
        "--min-partitions",
        type=count,
        metavar="N",
        help="read with at least so many tasks, and so many files",
    )


def _table_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--table-format", choices=("parquet", "delta", "iceberg"), default="parquet"
    )
    parser.add_argument(
        "--compression",
        choices=("zstd", "snappy", "lz4", "gzip", "none"),
        default="zstd",
    )
    parser.add_argument(
        "--partition-by",
        type=_partitions,
        default=(),
        metavar="A,B",
        help="divide the table by columns, or by times: kind,days(timestamp)",
    )
    parser.add_argument(
        "--catalog",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property of an Iceberg catalog; may be given often",
    )
    store_argument(parser)


def _value_arguments(parser: Parser) -> None:
    group = parser.add_argument_group("values")
    group.add_argument(
        "--value-format",
        choices=("none", "string", "json", "avro", "protobuf"),
        default="none",
    )
    group.add_argument("--schema", default="", help="of JSON: id BIGINT, name STRING")
    group.add_argument(
        "--schema-file", default="", metavar="FILE", help=".avsc, or a descriptor set"
    )
    group.add_argument("--message", default="", help="of Protobuf, like shop.Order")
    group.add_argument("--registry", default="", metavar="URL")
    group.add_argument("--subject", default="", help="in the registry: orders-value")
    group.add_argument(
        "--columns",
        type=_words,
        default=("topic", "partition", "offset", "timestamp", "key"),
        metavar="A,B",
        help="columns of the record to keep (default: topic,partition,offset,"
        "timestamp,key; also timestampType,headers)",
    )
    group.add_argument(
        "--dead-letters",
        metavar="PATH",
        help="the table for records that cannot be decoded (default:"
        " PATH-dead-letters)",
    )


def _topic(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, numbers = text.partition(":")
    try:
        return name, tuple(sorted({int(n) for n in numbers.split(",") if n}))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a topic; write it like orders or orders:0,2"
        ) from None


def _words(text: str) -> tuple[str, ...]:
    known = ("topic", "partition", "offset", "timestamp", "key", "timestampType")
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in words:
        if word not in (*known, "headers"):
            raise argparse.ArgumentTypeError(
                f"records have no {word}; they have {', '.join(known)}, headers"
            )
    return words


def _partitions(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _check_not_decided(given: dict[str, str]) -> None:
    """Raise ValueError for what would have no effect, or another than it says."""
    for name in given:
        if name.lower().startswith((*_DECIDED, _HEADERS)):
            raise ValueError(
                f"--option {name}: an export decides this by itself, as its other"
                " arguments say"
            )


def _find_brokers(parser: Parser, options: argparse.Namespace) -> None:
    """Set them; none for a data directory that was stopped cleanly."""
    is_stopped = False
    if options.bootstrap_server is None and options.data_dir:
        from odradek.pipeline.segments import directory

        is_stopped = directory.is_stopped(Path(options.data_dir))
    find_cluster(parser, options)
    if is_stopped:
        options.bootstrap_server = ""


def _run(
    options: argparse.Namespace,
    conf: dict[str, str],
    catalog: dict[str, str],
    more: dict[str, str],
) -> int:
    import os

    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.jobs.export import Export, run_export
    from odradek.pipeline.jobs.job_source import Source
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.pipeline.tables.table import without_end
    from odradek.protocol.errors import KafkaError
    from odradek.terminal.progress import Progress

    topic, partitions = options.topic
    path = os.path.abspath(options.data_dir) if options.data_dir else ""
    brokers = options.bootstrap_server
    isolation = "read_committed" if options.read_committed else "read_uncommitted"
    is_decoded = options.value_format != "none"
    table = without_end(options.table)
    export = Export(
        Source(
            brokers,
            (topic,),
            isolation_level=isolation,
            path=path,
            options=more,
            command_config=options.command_config if brokers else "",
        ),
        _value(options),
        table_path=table,
        table_format=options.table_format,
        partition_by=options.partition_by,
        partitions=partitions,
        starting=options.starting,
        ending=options.ending,
        compression=options.compression,
        catalog=tuple(catalog.items()),
        dead_letters=(options.dead_letters or f"{table}-dead-letters")
        if is_decoded
        else None,
        min_partitions=options.min_partitions,
        store=tuple(options.store.items()),
    )
    try:
        with SparkOfCommand(f"export {topic}", options.master, conf) as spark:
            commit = run_export(export, spark.session, Progress())
    except (JobError, KafkaError, ValueError) as error:
        return fail(_COMMAND, FAILED, error)
    except OSError as error:
        hint = _SEGMENTS_HINT if path and brokers else ""
        return fail(_COMMAND, FAILED, f"{told(error, brokers)}{hint}")
    _tell(export, commit, options.json)
    return 0


def _value(options: argparse.Namespace) -> ValueFormat:
    from odradek.pipeline.values.decoding import ValueFormat

    return ValueFormat(
        format=options.value_format,
        schema=options.schema,
        schema_file=whole_path(options.schema_file),
        message=options.message,
        subject=options.subject,
        registry=options.registry,
        registry_config=options.command_config,
        has_prefix=bool(options.registry),
        columns=options.columns,
    )


def _tell(export: Export, commit: Commit, as_json: bool) -> None:
    rows, dead = commit.row_count, commit.dead_letter_count
    if as_json:
        result = {"topic": export.source.topics[0], "table": export.table_path}
        print(json.dumps({**result, "rows": rows, "deadLetters": dead}))
    else:
        letters = f", {dead} dead letters" if dead else ""
        print(f"{rows} rows in {export.table_path}{letters}")
