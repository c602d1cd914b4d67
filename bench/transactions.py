"""Measures transactions of 10 records, of one and of many producers.

    python bench/transactions.py
    python bench/transactions.py --kafka KAFKA/libs --markdown docs/benchmarks.md
    python bench/transactions.py --works second --producers 16 --seconds 30

One batch of 10 records of 100 bytes a transaction, to a partition of the producer's
own. The first version of the protocol is AddPartitionsToTxn, Produce and EndTxn; the
second (KIP-890) is Produce and EndTxn. Both brokers once with what is acknowledged on
the disk, once in the page cache; all of them stay up and take turns.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

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
    results: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        brokers: list[Broker] = []
        try:
            for target in targets:
                brokers.append(Broker(target, Path(root)))
                brokers[-1].start()
            for number in range(args.rounds + 1):
                for work, producers in cases(args):
                    for broker in brokers:
                        figures = transactions(broker, args, work, producers)
                        _tell(broker, figures)
                        for row, figure in figures.items() if number else ():
                            by_broker = results.setdefault(row, {})
                            by_broker.setdefault(broker.name, []).append(figure)
        finally:
            for broker in brokers:
                broker.remove()
    names = [each.name for each in targets]
    rows = [
        [row, *(short(median(by[name])) if name in by else "" for name in names)]
        for row, by in results.items()
    ]
    text = table(["", *names], rows)
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _tell(broker: Broker, figures: Figures) -> None:
    row, figure = next(iter(figures.items()))
    others = f"others {disturbances[-1]:.2f} cores"
    print(f"{broker.name:32} {row:45} {short(figure):>6}  {others}", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--works", default=",".join(NAMES))
    parser.add_argument("--producers", default="1,16")
    parser.add_argument("--records", type=int, default=10, help="of a transaction")
    parser.add_argument("--seconds", type=float, default=5, help="of each")
    parser.add_argument("--warmup", type=float, default=2, help="seconds before that")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="after one that is not counted: the median",
    )
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
