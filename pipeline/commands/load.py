"""``odradek pipeline load``: write a table to a topic, each row once."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import (
    STORE_EXAMPLE,
    addresses,
    cluster_arguments,
    driver_address_argument,
    find_cluster,
    size,
    spark_conf,
    spark_options,
    store_argument,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.pipeline.load.loader import LoadJob
    from odradek.pipeline.load.record_rows import RecordColumns
    from odradek.pipeline.tables.files import RowSource

_COMMAND = "pipeline load"
_FORMATS = ("parquet", "delta", "iceberg", "json", "csv")
# What lies in stores of these Spark reads by its own means.
_OF_SPARK = ("json", "csv")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_DESCRIPTION = (
    "Write the rows of a table to a topic, each exactly once for a job: a run that was"
    " interrupted is simply started again, and goes on where the last transaction"
    " ended. Rows of new files follow when it runs again later. Columns named key,"
    " value, headers, timestamp and partition are those parts of a record; without a"
    " column value, the value is a JSON object of all columns. Exit code: 0 loaded, 1"
    " failed, 2 usage."
)
_EXAMPLES = (
    "odradek pipeline load --table ./orders --topic orders --job orders-1 --key id",
    "odradek pipeline load --table ./lake --format delta --topic orders --job lake-1"
    " -z zstd",
    "odradek pipeline load --table ./in --format csv --option header=true --topic rows"
    " --job rows-1",
)


def command(arguments: list[str]) -> int:
    """Write a table to a topic, each row once."""
    options = _parse(arguments)
    return run_job(_COMMAND, options, lambda: _load(options))


def run_job(name: str, options: argparse.Namespace, act: Callable[[], int]) -> int:
    """The exit code of ``act``; what goes wrong is said in one line."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.jobs.stream_failure import failure_of
    from odradek.pipeline.spark.task_failures import text_of
    from odradek.protocol.errors import KafkaError

    try:
        return act()
    except JobError as error:
        return fail(name, FAILED, error)
    except (PySparkException, Py4JJavaError) as error:
        return fail(name, FAILED, failure_of(None, text_of(error)))
    except KafkaError as error:
        return fail(name, FAILED, error, kafka_name=error.code.name)
    except OSError as error:
        return fail(name, FAILED, told(error, options.bootstrap_server))
    except ValueError as error:
        return fail(name, USAGE_ERROR, error)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(_COMMAND, _DESCRIPTION, _EXAMPLES)
    table_arguments(parser)
    parser.add_argument("--topic", required=True, metavar="TOPIC", help="where to")
    job_arguments(parser)
    for part, what in {
        "key": "the key, which chooses the partition",
        "value": "the value (default: the column value, or JSON of all columns)",
        "headers": "the headers: array<struct<key string, value binary>>",
        "timestamp": "the time: a timestamp, or a number of ms since 1970",
        "partition": "the partition, where it is not null",
    }.items():
        parser.add_argument(
            f"--{part}", metavar="COLUMN", help=f"the column with {what}"
        )
    parser.add_argument(
        "--begin",
        action="store_true",
        help="begin, although the topic has records and nothing says that this job has"
        " not written them: others wrote them",
    )
    json_argument(parser, "one JSON object a batch")
    cluster_arguments(parser)
    options = parser.parse(arguments)
    find_cluster(parser, options)
    return options


def table_arguments(parser: Parser) -> None:
    """Add what says which table is read."""
    parser.add_argument(
        "--table",
        required=True,
        metavar="PATH",
        help="the folder of the table, or its URL: s3://BUCKET/FOLDER, gs:// or az://",
    )
    store_argument(parser)
    parser.add_argument(
        "--format", choices=_FORMATS, default="parquet", help="default: parquet"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of Spark's reader; may be given often",
    )


def job_arguments(parser: Parser) -> None:
    """Add what says how it is written."""
    parser.add_argument(
        "--job",
        required=True,
        metavar="NAME",
        help="the name that makes it idempotent: its transactional id",
    )
    parser.add_argument(
        "-z", "--compression", choices=_CODECS, default="none", help="default: none"
    )
    parser.add_argument(
        "--batch-size",
        type=size,
        default=256 << 20,
        metavar="BYTES",
        help="of the files that one transaction loads, about (default: 256m)",
    )
    parser.add_argument(
        "--transaction-timeout",
        type=_milliseconds,
        default=900_000,
        metavar="TIME",
        help="how long a batch may take, like 900s; the broker's"
        " transaction.max.timeout.ms is the limit (default: 900s)",
    )

    driver_address_argument(parser)


def _milliseconds(text: str) -> int:
    number = text.removesuffix("s")
    if not (number.isascii() and number.isdigit() and int(number)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write it like 900s")
    return int(number) * 1000


def job_of(options: argparse.Namespace, *, begins: bool) -> LoadJob:
    """The job that the arguments describe; see `LoadJob` for ``begins``.

    Raises:
        ValueError: an address is none.
    """
    _check_addresses(options.bootstrap_server)
    from odradek.client.producer import ProducerSettings
    from odradek.pipeline.load.loader import LoadJob
    from odradek.pipeline.security.access import Access

    return LoadJob(
        options.job,
        options.topic,
        options.bootstrap_server,
        ProducerSettings(compression=_CODECS.index(options.compression)),
        options.transaction_timeout,
        begins=begins,
        access=Access(file=options.command_config),
        driver_address=options.driver_address,
    )


def _check_addresses(text: str) -> None:
    try:
        addresses(text)
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"--bootstrap-server: {error}") from None


def table_of(options: argparse.Namespace) -> RowSource:
    """The table that the arguments name.

    Raises:
        ValueError: an argument does not fit it.
        ModuleNotFoundError: the library for stores is not installed.
    """
    from odradek.objects.location import SCHEMES
    from odradek.pipeline.tables.files import TableSource
    from odradek.pipeline.tables.table import local_path

    pairs = spark_options(options.option, "--option", "header=true")
    store = spark_options(options.store, "--store", STORE_EXAMPLE)
    location = options.table
    scheme, is_url, _ = location.partition("://")
    if scheme in SCHEMES and is_url and options.format not in _OF_SPARK:
        from odradek.pipeline.tables.places.stored_table import StoredTable

        if pairs:
            raise ValueError(
                f"--option {options.option[0]}: an option of Spark's reader, which does"
                f" not read {location}"
            )
        return StoredTable(options.format, location, store)
    if store:
        raise ValueError(
            f"--store: {location} is read by Spark, with what its jars are told by"
            " --conf; s3://, gs:// and az:// as parquet, delta or iceberg are not"
        )
    if not is_url:
        location = str(local_path(location))
    return TableSource(options.format, location, pairs)


def _columns(options: argparse.Namespace, names: list[str]) -> RecordColumns:
    from odradek.pipeline.load.record_rows import usual_columns

    given = {
        part: getattr(options, part)
        for part in ("key", "value", "headers", "timestamp", "partition")
        if getattr(options, part)
    }
    return usual_columns(names)._replace(**given)


def _load(options: argparse.Namespace) -> int:
    from odradek.pipeline.load.loader import Loader
    from odradek.pipeline.load.table_load import load_table
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.terminal.progress import Progress

    job, source = job_of(options, begins=options.begin), table_of(options)
    total = batch_count = 0
    progress = Progress()
    conf = spark_conf(options)
    with (
        SparkOfCommand(options.job, options.master, conf) as spark,
        Loader(spark.session(), job) as loader,
    ):
        progress.begin()
        for loaded in load_table(
            spark.session(),
            loader,
            source,
            lambda names: _columns(options, names),
            options.batch_size,
        ):
            total, batch_count = total + loaded.records, batch_count + 1
            progress.done(
                "load",
                loaded.records,
                loaded.size,
                remaining=loaded.remaining_size,
                batch=loaded.batch,
            )
        progress.end()
        last = loader.last_batch().number
    result = {"job": job.name, "topic": job.topic, "records": total}
    result |= {"batches": batch_count, "lastBatch": last}
    if options.json:
        print(json.dumps(result))
    elif batch_count:
        print(f"{job.topic}: {total} records of {options.table} loaded")
    else:
        print(f"{job.topic}: nothing is new; job {job.name} has loaded all of it")
    return 0
