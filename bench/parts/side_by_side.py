"""Scenarios on odradek and on Apache Kafka: a row a figure, a column a broker."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from peers import kafka
from tables import machine, replace_section, short, table
from targets import Broker, Target, odradek

Figures = dict[str, float]
Scenario = Callable[[Broker, argparse.Namespace], Figures]


def compare(
    parser: argparse.ArgumentParser, scenarios: Mapping[str, Scenario], section: str
) -> None:
    """Run those that are asked for, one broker after the other, and tell the figures.

    ``parser`` has the options of the scenarios; those of all comparisons are added.
    """
    parser.add_argument("--scenarios", default=",".join(scenarios))
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    targets: list[Target] = [odradek("commit")]
    if args.kafka:
        targets.append(kafka(args.kafka))
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for target in targets:
            broker = Broker(target, Path(root))
            try:
                broker.start()
                for name in args.scenarios.split(","):
                    for row, figure in scenarios[name](broker, args).items():
                        print(target.name, row, short(figure), file=sys.stderr)
                        results.setdefault(row, {})[target.name] = figure
            finally:
                broker.remove()
    rows = [
        [row, *(short(by[each.name]) if each.name in by else "" for each in targets)]
        for row, by in results.items()
    ]
    text = table(["", *(each.name for each in targets)], rows)
    print(text)
    if args.markdown:
        replace_section(args.markdown, section, f"{machine()}\n\n{text}")
