"""``odradek pipeline compact``: few large files instead of many small ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import (
    STORE_EXAMPLE,
    conf_arguments,
    size,
    spark_conf,
    spark_options,
    store_argument,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.pipeline.tables.compaction.compaction import (
        Compaction,
        Group,
        Rewrite,
        Rewritten,
    )
    from odradek.pipeline.tables.places.task_file import Folder

_COMMAND = "pipeline compact"
_EXAMPLES = (
    "odradek pipeline compact ./orders",
    "odradek pipeline compact ./orders --file-size 256m --master 'local[4]'",
)


def command(arguments: list[str]) -> int:
    """Make few large files of a table's many small ones."""
    parser = Parser(
        _COMMAND,
        "Make few large files of a table's many small ones. Rows and what jobs have"
        " committed stay as they are. A Parquet table must not be written to meanwhile."
        " Exit code: 0 done, 1 failed, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("table", metavar="PATH", help="the table's folder or URL")
    parser.add_argument(
        "--file-size",
        type=size,
        default=128 << 20,
        metavar="SIZE",
        help="about how large files become (default: 128m)",
    )
    parser.add_argument(
        "--keep-snapshots",
        type=int,
        metavar="N",
        help="let an Iceberg table keep N snapshots (500 in those that jobs make), now"
        " and as jobs go on; the others are expired",
    )
    parser.add_argument(
        "--catalog",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property of an Iceberg table's catalog; may be given often",
    )
    store_argument(parser)
    parser.add_argument(
        "--master",
        metavar="URL",
        help="let this Spark rewrite the files (default: this process does)",
    )
    conf_arguments(parser)
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    try:
        conf = spark_conf(options)
        catalog = spark_options(options.catalog, "--catalog", "type=sql")
        options.store = spark_options(options.store, "--store", STORE_EXAMPLE)
    except ValueError as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    if options.keep_snapshots is not None and options.keep_snapshots < 1:
        return fail(_COMMAND, USAGE_ERROR, "--keep-snapshots is 1 or more")
    return _run(options, conf, catalog)


def _run(
    options: argparse.Namespace, conf: dict[str, str], catalog: dict[str, str]
) -> int:
    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.pipeline.tables.compaction.compaction import compact, keep_snapshots
    from odradek.terminal.progress import Progress

    progress = Progress()
    try:
        with SparkOfCommand("compact", options.master, conf) as spark:
            rewrite = _on_spark(spark) if options.master else None
            done = compact(
                options.table,
                options.file_size,
                catalog=catalog,
                store=options.store,
                rewrite=rewrite,
            )
            if (count := options.keep_snapshots) is not None:
                expired = keep_snapshots(options.table, count, catalog, options.store)
                progress.note("expired snapshots", count=expired)
    except JobError as error:
        return fail(_COMMAND, FAILED, error)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        said = f"{where}{error.strerror}"
        return fail(_COMMAND, FAILED, said if error.strerror else error)
    progress.done(
        "compact",
        done.row_count,
        done.size_before,
        files_before=done.files_before,
        files_after=done.files_after,
    )
    progress.end()
    if options.json:
        print(json.dumps(_as_json(options.table, done)))
        return 0
    print(
        f"{done.files_before} files, now {done.files_after}"
        + (f" ({done.size_before:,} bytes, now {done.size_after:,})")
        if done.files_after < done.files_before
        else f"{done.files_before} files; there is nothing to do"
    )
    return 0


def _as_json(table: str, done: Compaction) -> dict[str, object]:
    return {
        "table": table,
        "filesBefore": done.files_before,
        "filesAfter": done.files_after,
        "rows": done.row_count,
        "bytesBefore": done.size_before,
        "bytesAfter": done.size_after,
    }


def _on_spark(spark: object) -> Rewrite:
    from odradek.pipeline.jobs.stream_failure import in_one_line
    from odradek.pipeline.spark.executors import Executors
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.pipeline.tables.compaction.compaction import rewrite_group

    assert isinstance(spark, SparkOfCommand)

    def rewrite(groups: Sequence[Group], folder: Folder) -> list[Rewritten]:
        executors = Executors(spark.session())
        with in_one_line():
            return executors.run(lambda group: rewrite_group(group, folder), groups)

    return rewrite
