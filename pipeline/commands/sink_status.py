"""``odradek pipeline sink status``: what is committed, and how far behind it is."""

from __future__ import annotations

from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument


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
    options = parser.parse(arguments)
    return _show(options.job, as_json=options.json)


def _show(path: str, *, as_json: bool) -> int:
    from odradek.pipeline.job_errors import JobError
    from odradek.pipeline.jobs.job_file import read_job_file
    from odradek.pipeline.sink.status import job_status, status_lines

    try:
        status = job_status(read_job_file(path))
    except JobError as error:
        return fail("pipeline sink status", FAILED, error)
    if as_json:
        import json

        print(json.dumps(status.as_json(), ensure_ascii=False))
    else:
        print("\n".join(status_lines(status)))
    return 0
