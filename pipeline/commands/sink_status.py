"""``odradek pipeline sink status``: what is committed, and how far behind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import command_config_argument
from .sink import job_of

if TYPE_CHECKING:
    import argparse


def command(arguments: list[str]) -> int:
    """Show the last batch of a job, and its lag."""
    parser = Parser(
        "pipeline sink status",
        "Show what a job has committed to its table, and how far behind it is. The"
        " table and the cluster are asked, not the job. Exit code: 0 done, 1 failed,"
        " 2 usage.",
        (
            "odradek pipeline sink status orders.toml",
            "odradek pipeline sink status orders.toml --json",
        ),
    )
    parser.add_argument("job", metavar="JOB.toml")
    json_argument(parser, "one JSON object")
    command_config_argument(parser)
    options = parser.parse(arguments)
    return _show(options)


def _show(options: argparse.Namespace) -> int:
    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.sink.status import job_status, status_lines

    try:
        status = job_status(job_of(options))
    except (JobError, OSError) as error:
        return fail("pipeline sink status", FAILED, error)
    if options.json:
        import json

        print(json.dumps(status.as_json(), ensure_ascii=False))
    else:
        print("\n".join(status_lines(status)))
    return 0
