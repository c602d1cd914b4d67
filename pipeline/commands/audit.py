"""``odradek pipeline audit PATH``: is every batch of a data directory sound?"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import spark_arguments, spark_conf

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.pipeline.audit.audit import Audit
    from odradek.pipeline.audit.span import AuditSpan

_NAME = "pipeline audit"
_STEP = "audit"
_EXAMPLES = (
    "odradek pipeline audit ./data",
    "odradek pipeline audit /var/lib/odradek --topic orders --report ./audit",
    "odradek pipeline audit ./data --json",
)


def command(arguments: list[str]) -> int:
    """Check every batch of a data directory; exit status 1 when one is damaged."""
    given = _parser().parse(arguments)
    try:
        options = spark_conf(given)
    except ValueError as error:
        return fail(_NAME, USAGE_ERROR, error)
    from odradek.pipeline.audit.report import as_json, render, write_report
    from odradek.pipeline.errors import SourceError
    from odradek.pipeline.job_errors import JobError

    logging.basicConfig(format="%(message)s")
    try:
        audit = _audit(given, options)
        written = [] if given.report is None else write_report(audit, given.report)
    except (SourceError, JobError, OSError) as error:
        return fail(_NAME, USAGE_ERROR, error)
    if given.json:
        for said in as_json(audit):
            print(json.dumps(said))
        return 0 if audit.is_sound else FAILED
    for line in render(audit):
        print(line)
    for path in written:
        print(f"written: {path}")
    return 0 if audit.is_sound else FAILED


def _audit(given: argparse.Namespace, options: dict[str, str]) -> Audit:
    from odradek.pipeline.audit.audit import conclude, plan_audit
    from odradek.pipeline.audit.run import audit_spans
    from odradek.pipeline.segments.directory import DataDirectory
    from odradek.pipeline.spark.executors import Executors
    from odradek.pipeline.spark.session import SparkOfCommand
    from odradek.terminal.progress import Progress

    # An executor may have another working directory.
    directory = DataDirectory(given.path.absolute())
    pieces = plan_audit(directory, given.topic)
    progress = Progress()
    remaining = sum(piece.size for piece in pieces)

    def say(spans: Sequence[AuditSpan]) -> None:
        nonlocal remaining
        size = sum(span.size for span in spans)
        remaining -= size
        records = sum(span.records for span in spans)
        progress.done(_STEP, records, size, remaining=remaining)

    with SparkOfCommand(_NAME, given.master, options) as spark:
        executors = Executors(spark.session()) if pieces else None
        progress.begin()
        spans = audit_spans(executors, pieces, say) if executors is not None else []
    progress.end()
    return conclude(directory, spans)


def _parser() -> Parser:
    parser = Parser(
        _NAME,
        "Check every batch of a data directory with Spark: checksums, offsets that"
        " follow each other, how many there are. Exit code: 0 all are sound, 1 one is"
        " damaged, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a log directory of a broker (log.dirs)"
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="TOPIC",
        help="only this topic; may be given often",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FOLDER",
        help="write partitions, segments and findings there as Parquet files",
    )
    json_argument(parser, "one JSON object a finding, and one of the sums at the end")
    spark_arguments(parser)
    return parser
