"""``odradek doctor``: find out why a client cannot connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, print_json
from odradek.terminal.failure import FAILED
from odradek.terminal.pipe import quiet_pipe
from odradek.terminal.screen import Style, styled
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

_COMMAND = "doctor"
_EXAMPLES = (
    "odradek doctor",
    "odradek doctor --bootstrap-server kafka.example.com:9092 --timeout 5s",
    "odradek doctor --bootstrap-server kafka-1:9092,kafka-2:9092 --json",
)


def command(arguments: list[str]) -> int:
    """Find out why a client cannot connect."""
    parser = cluster_parser(
        _COMMAND,
        "Find out why a client cannot connect: name, port, protocol, TLS, SASL, the"
        " addresses that the brokers advertise, leaders, groups; with what to do.",
        _EXAMPLES,
        timeout="5s",
    )
    options = parser.parse(arguments)
    with quiet_pipe():
        return _examine(options)


def _examine(options: argparse.Namespace) -> int:
    from odradek.client.diagnosis import diagnose

    failures = 0
    asked = (options.bootstrap_server, options.timeout, options.security)
    for finding in diagnose(*asked):
        failures += not finding.is_ok
        if options.json:
            print_json(
                {
                    "check": finding.check,
                    "target": finding.target,
                    "ok": finding.is_ok,
                    "detail": finding.detail,
                    "advice": finding.advice or None,
                }
            )
            continue
        good, bad = styled("ok  ", Style.GOOD), styled("FAIL", Style.ERROR)
        line = f"{finding.check:<10}  {finding.target}: {finding.detail}"
        print(f"{good if finding.is_ok else bad}  {printable(line)}")
        if finding.advice:
            print(f"      {printable(finding.advice)}")
    if not options.json:
        print("all is well" if not failures else _count_text(failures))
    return FAILED if failures else 0


def _count_text(failures: int) -> str:
    return "1 problem" if failures == 1 else f"{failures} problems"
