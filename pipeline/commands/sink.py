"""``odradek pipeline sink``: a streaming job, described by a file."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from odradek.client.defaults import CLIENT_CONFIG_VARIABLE
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser

from . import run_pipeline_action
from .arguments import command_config_argument, told, whole_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import FrameType

    from odradek.pipeline.jobs.job_file import Job

ACTIONS = {
    "start": (".sink_start", "run the job until it is stopped"),
    "once": (".sink_once", "write what there is now, and stop"),
    "status": (".sink_status", "show the last batch, and how far behind it is"),
}

_EXAMPLES = (
    "odradek pipeline sink start orders.toml   # until Ctrl-C or SIGTERM",
    "odradek pipeline sink once orders.toml    # from cron",
    "odradek pipeline sink status orders.toml",
)
_JOB_FILE = (
    "# orders.toml, at the least:",
    'name = "orders"',
    'source.topics = ["orders"]',
    'table.path = "./orders"',
)


def command(arguments: list[str]) -> int:
    """Let topics flow into a table."""
    return run_pipeline_action("pipeline sink", ACTIONS, arguments, _EXAMPLES)


def run_sink(action: str, arguments: list[str], *, once: bool) -> int:
    """Run the job of a file; the exit code."""
    parser = Parser(
        f"pipeline sink {action}",
        "Write topics to a table, exactly once, as a job file says. Exit code: 0 done,"
        " 1 failed, 2 usage.",
        [f"odradek pipeline sink {action} orders.toml", *_JOB_FILE],
    )
    parser.add_argument("job", metavar="JOB.toml")
    parser.add_argument(
        "--rebuild-checkpoint",
        action="store_true",
        help="first make Spark's checkpoint anew from the table, which knows all of it;"
        " from its rows if it has to be",
    )
    command_config_argument(parser)
    options = parser.parse(arguments)
    return _run(f"pipeline sink {action}", options, once)


def _run(command: str, options: argparse.Namespace, once: bool) -> int:
    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.sink.sink import Sink
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.protocol.errors import KafkaError

    sink = None
    brokers = ""
    try:
        job = job_of(options)
        brokers = job.source.bootstrap_servers
        with SparkOfCommand(f"sink {job.name}", job.master, job.conf) as spark:
            sink = Sink(job, spark.session)
            sink.prepare(rebuild_checkpoint=options.rebuild_checkpoint)
            stop_on_signals(sink.stop)
            sink.run(once=once)
    except (JobError, KafkaError) as error:
        return fail(command, FAILED, error)
    except OSError as error:
        return fail(command, FAILED, told(error, brokers))
    finally:
        if sink is not None:
            sink.close()
    return 0


def job_of(options: argparse.Namespace) -> Job:
    """The job of the file, with the client options that the command line names.

    Raises:
        JobError: says which key is wrong, and what was meant.
    """
    from odradek.pipeline.jobs.job_file import read_job_file

    usual = os.environ.get(CLIENT_CONFIG_VARIABLE, "").strip()
    named = options.command_config or ""
    return read_job_file(options.job, whole_path(named), whole_path(usual))


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call ``stop`` when the process is asked to end."""

    def handle(number: int, frame: FrameType | None) -> None:
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
