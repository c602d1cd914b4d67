"""``odradek pipeline doctor``: find out what the pipeline lacks here."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument

from .arguments import (
    addresses,
    cluster_arguments,
    driver_address_argument,
    find_cluster,
    spark_conf,
)

if TYPE_CHECKING:
    from odradek.pipeline.spark.finding import Finding

_COMMAND = "pipeline doctor"
# A task that fails on one executor is tried on another: each is heard.
_ELSEWHERE = {
    "spark.excludeOnFailure.enabled": "true",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": "3",
}
_DESCRIPTION = (
    "Find out what the pipeline lacks here: Java, packages and their versions, a broker"
    " that can be reached, a Spark that starts, and what each of its executors has."
    " Exit code: 0 all is well, 1 something is not, 2 usage."
)
_EXAMPLES = (
    "odradek pipeline doctor",
    "odradek pipeline doctor --no-spark --json",
    "odradek pipeline doctor --bootstrap-server kafka-1:9092 --master spark://host:7077"
    " --path /lake",
)


def command(arguments: list[str]) -> int:
    """Find out what the pipeline lacks here."""
    parser = Parser(_COMMAND, _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "--no-spark", action="store_true", help="leave Spark out, which takes seconds"
    )
    parser.add_argument(
        "--path",
        metavar="FOLDER",
        default="",
        help="a folder of tables, which all of Spark's machines must share",
    )
    driver_address_argument(parser)
    json_argument(parser, "one JSON object a finding")
    cluster_arguments(parser)
    options = parser.parse(arguments)
    find_cluster(parser, options)
    try:
        brokers = addresses(options.bootstrap_server)
        conf = spark_conf(options)
    except (argparse.ArgumentTypeError, ValueError) as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    from odradek.pipeline.security.access import Access
    from odradek.pipeline.spark.doctor import ClusterNeeds, examine
    from odradek.pipeline.spark.remote import is_remote
    from odradek.pipeline.spark.session import SparkOfCommand

    problems, access = 0, Access(file=options.command_config)
    remote = is_remote(options.master or "")
    needs = ClusterNeeds(options.path, options.driver_address, remote)
    if not remote:
        conf = {**_ELSEWHERE, **conf}
    with SparkOfCommand("doctor", options.master, conf) as spark:
        session = None if options.no_spark else spark.session
        for finding in examine(session, brokers, access=access, needs=needs):
            problems += not finding.is_ok
            _show(finding, options.json)
    if not options.json:
        count = "1 problem" if problems == 1 else f"{problems} problems"
        print(count if problems else "all is well")
    return FAILED if problems else 0


def _show(finding: Finding, is_json: bool) -> None:
    if is_json:
        said = {
            "check": finding.check,
            "ok": finding.is_ok,
            "detail": finding.detail,
            "advice": finding.advice or None,
        }
        print(json.dumps(said), flush=True)
        return
    mark = "ok  " if finding.is_ok else "FAIL"
    print(f"{mark}  {finding.check:<20}  {finding.detail}", flush=True)
    if finding.advice:
        print(f"      {finding.advice}")
