"""Measures transactions of 10 records, of one and of many producers.

    python -P bench/transactions.py
    python -P bench/transactions.py --kafka KAFKA/libs --markdown docs/benchmarks.md
    python -P bench/transactions.py --works second --producers 16 --seconds 30

One batch of 10 records of 100 bytes a transaction, to a partition of the producer's
own. The first version of the protocol is AddPartitionsToTxn, Produce and EndTxn; the
second (KIP-890) is Produce and EndTxn. Both brokers once with what is acknowledged on
the disk, once in the page cache.
"""

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from peers import kafka  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import Broker, odradek  # noqa: E402
from work import HERE as PARTS  # noqa: E402
from work import disturbances, measure, topic  # noqa: E402

SECTION = "transactions"
LOAD = PARTS / "transactional_load.py"
NAMES = {
    "first": "first version",
    "second": "second version",
    "librdkafka": "librdkafka",
}
# Every partition's log, those of coordinators too.
SYNCED = {"log.flush.interval.messages": "1"}

Figures = dict[str, float]


def transactions(
    broker: Broker, args: argparse.Namespace, work: str, producers: int
) -> Figures:
    with topic(broker, producers) as name:
        found = measure(
            broker,
            LOAD,
            work,
            topic=name,
            producers=producers,
            partitions=producers,
            records=args.records,
            seconds=args.seconds,
            warmup=args.warmup,
        )
    count = found["transactions"]
    case = f"{NAMES[work]}, {producers} producer{'s' * (producers > 1)}"
    figures = {
        f"{case}: transactions/s": count / found["seconds"],
        f"{case}: broker CPU s/1,000": found["broker_cpu_s"] / count * 1e3,
        f"{case}: p50 ms": found["p50_us"] / 1e3,
        f"{case}: p99 ms": found["p99_us"] / 1e3,
    }
    if work != "librdkafka":
        figures[f"{case}: asked again, each"] = found["asked_again"] / count
    return figures


def cases(args: argparse.Namespace) -> list[tuple[str, int]]:
    counts = [int(each) for each in args.producers.split(",")]
    return [
        (work, count)
        for work in args.works.split(",")
        for count in (counts if work != "librdkafka" else [1])
    ]


def main() -> None:
    args = _arguments()
    targets = [odradek("commit"), odradek("none")]
    if args.kafka:
        targets.insert(1, kafka(args.kafka, "flush.messages=1", SYNCED))
        targets.append(kafka(args.kafka))
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for target in targets:
            broker = Broker(target, Path(root))
            try:
                broker.start()
                for work, producers in cases(args):
                    figures = transactions(broker, args, work, producers)
                    for row, figure in figures.items():
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
    print(f"others used {max(disturbances):.0%} of a core at most", file=sys.stderr)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--works", default=",".join(NAMES))
    parser.add_argument("--producers", default="1,16")
    parser.add_argument("--records", type=int, default=10, help="of a transaction")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warmup", type=float, default=3, help="seconds before that")
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
