"""``odradek pipeline replay``: write dead letters back to a topic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from odradek.terminal.parser import Parser, json_argument

from .arguments import cluster_arguments, find_cluster, spark_conf
from .load import job_arguments, job_of, run_job, table_arguments, table_of

if TYPE_CHECKING:
    import argparse

_COMMAND = "pipeline replay"
_DESCRIPTION = (
    "Write the dead letters of a sink back to a topic, as they came, each exactly once"
    " for a job: when what they failed at has been mended. A header"
    " odradek.replayed.from says topic-partition@offset. Exit code: 0 replayed, 1"
    " failed, 2 usage."
)
_EXAMPLES = (
    "odradek pipeline replay --table ./orders-dead-letters --topic orders"
    " --job mended-june",
    "odradek pipeline replay --table ./orders-dead-letters --topic orders"
    " --job mended-july --reason 'Expecting value'",
)


def command(arguments: list[str]) -> int:
    """Write dead letters back to a topic."""
    options = _parse(arguments)
    return run_job(_COMMAND, options, lambda: _replay(options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(_COMMAND, _DESCRIPTION, _EXAMPLES)
    table_arguments(parser)
    parser.add_argument("--topic", required=True, metavar="TOPIC", help="where to")
    job_arguments(parser)
    parser.add_argument(
        "--from-topic", default="", metavar="TOPIC", help="only what came from there"
    )
    parser.add_argument(
        "--reason",
        default="",
        metavar="REGEX",
        help="only what failed for a reason with a match of this",
    )
    parser.add_argument(
        "--same-partition",
        action="store_true",
        help="into the partition it came from, not where its key belongs",
    )
    json_argument(parser, "one JSON object")
    cluster_arguments(parser)
    options = parser.parse(arguments)
    find_cluster(parser, options)
    return options


def _replay(options: argparse.Namespace) -> int:
    from odradek.pipeline.load.loader import Loader
    from odradek.pipeline.load.replay import Replay
    from odradek.pipeline.load.table_load import load_table
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.terminal.progress import Progress

    # The topic has the records that the letters came from, and many more.
    job, source = job_of(options, begins=True), table_of(options)
    replay = Replay(options.from_topic, options.reason, options.same_partition)
    total = 0
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
            replay.columns,
            options.batch_size,
            replay.rows,
        ):
            total += loaded.records
            progress.done("replay", loaded.records, loaded.size, batch=loaded.batch)
        progress.end()
    if options.json:
        print(json.dumps({"job": job.name, "topic": job.topic, "records": total}))
    else:
        print(f"{job.topic}: {total} dead letters replayed")
    return 0
